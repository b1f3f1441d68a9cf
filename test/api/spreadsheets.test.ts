/** Exports as a spreadsheet reads them, with decimal points and commas: numbers stay numbers, and times stay times. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { initSync, Model } from '@ironcalc/wasm';
import { expect } from 'chai';
import { type DecimalMark, toCsv } from '../../services/exported-rows.ts';
import { ADMIN_BALANCE_ENTRY } from '../../services/resources/finance.ts';
import type { BalanceEntry } from '../../db/queries/balance-entries.ts';

/** The type of a cell, by the numbers of Excel's function TYPE. */
const TYPES: Readonly<Record<number, string>> = { 1: 'number', 2: 'text', 4: 'boolean' };

const ENTRY: BalanceEntry = {
  id: `tr_${'0'.repeat(32)}`,
  createdAt: new Date('2026-11-21T15:40:11.656Z'),
  type: 'text_request',
  amount: -3_150_000n,
  balance: 1_022_999_996_850_000n,
  apiKeyId: `key_${'0'.repeat(32)}`,
  taskId: null,
  textRequestId: `txt_${'0'.repeat(32)}`,
  requestKind: 'text',
  model: 'a;b, "c"',
  errorCode: null,
  failureReason: null,
  inputTokens: 1_234n,
  outputTokens: 0n,
  reference: '=1+1',
  author: null,
  reason: null,
};
/** An amount that becomes a thousand times as large when its decimal point is read as a thousands separator. */
const OTHER: BalanceEntry = { ...ENTRY, amount: 1_234_000_000_000n, balance: 2_256_999_996_850_000n };

const CONVENTIONS: readonly { decimal: DecimalMark; locale: string; separator: string }[] = [
  { decimal: 'point', locale: 'en', separator: ',' },
  { decimal: 'comma', locale: 'de', separator: ';' },
];

describe('an export in a spreadsheet', () => {
  before(() => {
    initSync({ module: readFileSync(createRequire(import.meta.url).resolve('@ironcalc/wasm/wasm_bg.wasm')) });
  });

  for (const { decimal, locale, separator } of CONVENTIONS) {
    async function open(): Promise<{ sheet: Model; columnOf: (name: string) => number }> {
      const lines: string[] = [];
      for await (const line of toCsv([ENTRY, OTHER], ADMIN_BALANCE_ENTRY.columns, decimal)) lines.push(line);
      const rows = lines.map((line) => cellsOf(line.trimEnd(), separator));
      const sheet = new Model('export', locale, 'UTC', 'en');
      rows.forEach((cells, row) => cells.forEach((cell, column) => sheet.setUserInput(0, row + 1, column + 1, cell)));
      return { sheet, columnOf: (name) => (rows[0]?.indexOf(name) ?? -1) + 1 };
    }

    it(`has numbers that add up, where decimals have a ${decimal}`, async () => {
      const { sheet, columnOf } = await open();
      for (const name of ['amount_usd', 'balance_usd', 'input_tokens', 'output_tokens']) {
        for (const row of [2, 3]) {
          expect(TYPES[sheet.getCellType(0, row, columnOf(name))], `${name} ${row}`).to.equal('number');
        }
      }
      const letter = String.fromCodePoint(64 + columnOf('amount_usd'));
      sheet.setUserInput(0, 10, 1, `=ROUND(SUM(${letter}2:${letter}3)*100000000${decimal === 'comma' ? ';' : ','}0)`);
      sheet.setUserInput(0, 10, 2, '=A10-123399685');
      sheet.evaluate();
      expect(sheet.getFormattedCellValue(0, 10, 2)).to.equal('0');
    });

    it(`has times that a spreadsheet can calculate with, and text that stays text, where decimals have a ${decimal}`, async () => {
      const { sheet, columnOf } = await open();
      sheet.setUserInput(0, 10, 1, `=DATEVALUE(LEFT(A2${separator}10))`);
      sheet.setUserInput(0, 10, 2, `=TIMEVALUE(MID(A2${separator}12${separator}8))*86400`);
      sheet.evaluate();
      // 2026-11-21 as Excel counts days, and 15:40:11 in seconds.
      expect([1, 2].map((column) => Math.round(Number(sheet.getFormattedCellValue(0, 10, column))))).to.deep.equal([
        46_347, 56_411,
      ]);
      for (const [name, text] of [
        ['model', 'a;b, "c"'],
        ['reference', '=1+1'],
        ['id', ENTRY.id],
      ] as const) {
        const column = columnOf(name);
        expect([TYPES[sheet.getCellType(0, 2, column)], sheet.getFormattedCellValue(0, 2, column)], name).to.deep.equal(
          ['text', text],
        );
      }
      expect(sheet.getFormattedCellValue(0, 2, columnOf('task_id'))).to.equal('');
    });
  }

  it('would be read wrongly with the other decimals', async () => {
    const sheet = new Model('export', 'de', 'UTC', 'en');
    sheet.setUserInput(0, 1, 1, '1022.99999685');
    expect(TYPES[sheet.getCellType(0, 1, 1)]).to.equal('text');
  });
});

/** The cells of a line, per RFC 4180. */
function cellsOf(line: string, separator: string): readonly string[] {
  const cell = new RegExp(`(?:^|${separator})(?:"((?:[^"]|"")*)"|([^"${separator}]*))`, 'g');
  return Array.from(line.matchAll(cell), ([, quoted, plain = '']) => quoted?.replaceAll('""', '"') ?? plain);
}
