import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { estimateTokens, TokenCounter } from '../../text/token-estimate.ts';

const FOLDER = join(import.meta.dirname, '../fixtures/languages');

/** Texts by language or kind: a story, a report, an answer with a list, programs, data. */
function samples(): ReadonlyMap<string, readonly string[]> {
  const kinds = new Map<string, string[]>();
  for (const file of readdirSync(FOLDER).sort()) {
    const [kind = ''] = file.split('-');
    kinds.set(kind, [...(kinds.get(kind) ?? []), readFileSync(join(FOLDER, file), 'utf8')]);
  }
  const english = kinds.get('english')?.join('\n') ?? '';
  kinds.set('base64', [
    bytes(2_000).toString('base64'),
    bytes(2_000).toString('base64url'),
    gzipSync(english).toString('base64'),
    Buffer.from(english).toString('base64'),
  ]);
  return kinds;
}

/** Pseudo-random bytes, the same each time. */
function bytes(count: number): Buffer {
  const blocks = Array.from({ length: Math.ceil(count / 32) }, (_, index) =>
    createHash('sha256').update(`block ${index}`).digest(),
  );
  return Buffer.concat(blocks).subarray(0, count);
}

function ratio(text: string): number {
  return estimateTokens([text]) / countTokens(text);
}

const KINDS = samples();
const EACH = [...KINDS].flatMap(([kind, texts]) => texts.map((text, index) => ({ kind, index, text })));

describe('the estimate of tokens', () => {
  for (const { kind, index, text } of EACH) {
    it(`is within 15 % of o200k on ${kind} (${index + 1})`, () => {
      expect(ratio(text)).to.be.within(0.85, 1.15);
    });
  }

  it('has samples of the languages that clients write in', () => {
    expect([...KINDS.keys()]).to.include.members([
      'english',
      'chinese',
      'japanese',
      'arabic',
      'hindi',
      'code',
      'base64',
    ]);
    expect([...KINDS.keys()]).to.include.members(['russian', 'korean', 'thai']);
  });

  it('uses a sample of a long text, and is as close', () => {
    for (const [kind, texts] of KINDS) {
      const repeated = Array.from({ length: 60 }, () => texts).flat();
      const unsampled = texts.reduce((sum, text) => sum + estimateTokens([text]), 0) * 60;
      expect(estimateTokens([repeated.join('')]) / unsampled, kind).to.be.within(0.85, 1.15);
      expect(estimateTokens(repeated) / unsampled, `${kind} in parts`).to.be.within(0.85, 1.15);
    }
  });

  it('covers all of a long text, wherever it differs', () => {
    const text = 'word '.repeat(50_000) + bytes(180_000).toString('base64') + 'word '.repeat(50_000);
    const exact = 100_000 + 240_000 / 1.48;
    expect(estimateTokens([text]) / exact).to.be.within(0.6, 1.4);
  });

  it('the estimate of an empty text is 0', () => {
    expect(estimateTokens([])).to.equal(0);
    expect(estimateTokens(['', ''])).to.equal(0);
    expect(new TokenCounter().count()).to.equal(0);
  });

  it('takes almost no time for 32 MB of any content', () => {
    const units = ['a ', 'a', ' ', ',', 'ab1Cd2', '漢', 'नमस्ते ', '😀', '\u0f40', '\n', 'mxzptk'];
    const texts = units.map((unit) => [unit.repeat((32 * 2 ** 20) / Buffer.byteLength(unit))]);
    texts.push(Array.from({ length: 2_000_000 }, () => 'one two three'));
    for (const [index, text] of texts.entries()) {
      // The first run builds the string; of the others, the least disturbed one counts.
      const costsMs = Array.from({ length: 4 }, () => {
        const before = process.cpuUsage();
        estimateTokens(text);
        const { user, system } = process.cpuUsage(before);
        return (user + system) / 1_000;
      });
      expect(Math.min(...costsMs), `ms for ${units[index] ?? 'pieces'}`).to.be.below(200);
    }
  });
});

describe('the counter of tokens', () => {
  for (const [kind, texts] of KINDS) {
    it(`counts ${kind} that arrives in pieces`, () => {
      for (const size of [1, 7, 100_000]) {
        const text = texts.join('\n');
        const counter = new TokenCounter();
        for (let start = 0; start < text.length; start += size) counter.add(text.slice(start, start + size));
        expect(counter.length).to.equal(text.length);
        expect(counter.count() / countTokens(text), `in pieces of ${size}`).to.be.within(0.85, 1.15);
      }
    });
  }

  it('keeps a bounded part of a long answer, and still is close', () => {
    const counter = new TokenCounter();
    let exact = 0;
    for (let round = 0; round < 200; round += 1) {
      for (const text of [...(KINDS.get('english') ?? []), ...(KINDS.get('chinese') ?? [])]) counter.add(text);
    }
    for (const text of [...(KINDS.get('english') ?? []), ...(KINDS.get('chinese') ?? [])]) exact += countTokens(text);
    expect(counter.count() / (exact * 200)).to.be.within(0.8, 1.2);
  });
});
