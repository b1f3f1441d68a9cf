import { Router } from '@koa/router';
import { expect } from 'chai';
import Koa from 'koa';
import type { Presentation } from '../../domain/resource/resource.ts';
import { sendAll } from '../../api/exports.ts';
import { NDJSON, type Rows, toCsv } from '../../services/exported-rows.ts';
import type { RequestState } from '../../api/state.ts';
import { listen } from '../../api/http-server.ts';

interface Row {
  readonly name: string | null;
  readonly amount: string;
}

const FORMAT: Presentation<Row> = {
  columns: [
    ['name', ({ name }) => name],
    ['amount', ({ amount }) => amount],
  ],
  present: ({ name, amount }) => ({ name, amount }),
};

describe('an export', () => {
  /** The export that a client of such rows receives. */
  async function ask(accept: string, rows: () => Rows<Row>): Promise<{ type: string | null; text: string }> {
    const app = new Koa<RequestState>();
    app.silent = true;
    const router = new Router<RequestState>();
    router.get('/', (context) => {
      if (!sendAll(context, rows, FORMAT)) context.body = 'a page';
    });
    app.use(router.routes());
    const server = await listen(app.callback(), '127.0.0.1', 0);
    try {
      const response = await fetch(`http://127.0.0.1:${server.port}/`, { headers: { accept } });
      return { type: response.headers.get('content-type'), text: await response.text() };
    } finally {
      await server.stop(0);
    }
  }

  const rowsNamed =
    (...names: (string | null)[]): (() => Rows<Row>) =>
    () =>
      names.map((name) => ({ name, amount: '-0.000000000001' }));

  it('is CSV with a header, whose commas, quotes and line breaks are quoted', async () => {
    const { type, text } = await ask('text/csv', rowsNamed('a', 'b,"c"\n', null));
    expect(type).to.match(/^text\/csv/);
    expect(text).to.equal('name,amount\r\na,-0.000000000001\r\n"b,""c""\n",-0.000000000001\r\n,-0.000000000001\r\n');
  });

  for (const [formula, cell] of [
    ['=1+1', "'=1+1"],
    ['+1', "'+1"],
    ['-1+1', "'-1+1"],
    ['@SUM(A1)', "'@SUM(A1)"],
    ['\tx', "'\tx"],
    ['\r=1', `"'\r=1"`],
    ['＝1', "'＝1"],
    ['＋1', "'＋1"],
    ['－1', "'－1"],
    ['＠1', "'＠1"],
    // With another list separator, the remainder is a cell of its own.
    ['a;=1+1', "a;'=1+1"],
    ['a; "=1+1";=2', `"a; ""'=1+1"";'=2"`],
    ['a\t＋1;b;-2', "a\t'＋1;b;'-2"],
    ['a; b-c', 'a; b-c'],
  ] as const) {
    it(`is harmless in a spreadsheet: ${JSON.stringify(formula)} is text`, async () => {
      const { text } = await ask('text/csv', rowsNamed(formula));
      expect(text.split('\r\n')[1]).to.equal(`${cell},-0.000000000001`);
    });
  }

  for (const [accept, type, first] of [
    ['text/csv; charset=utf-8', 'text/csv', 'name,amount\r\n'],
    ['text/csv;header=present', 'text/csv', 'name,amount\r\n'],
    ['TEXT/CSV; charset="UTF-8"; header=present', 'text/csv', 'name,amount\r\n'],
    ['text/csv; charset=utf-8; decimal=comma', 'text/csv', 'name;amount\r\n'],
    ['application/x-ndjson; charset=utf-8', 'application/x-ndjson', '{"name":"a"'],
    ['application/json;q=0.5, text/csv;header=present', 'text/csv', 'name,amount\r\n'],
    ['*/*', 'text/plain', 'a page'],
  ] as const) {
    it(`answers ${accept} with ${type}`, async () => {
      // contract 4.9:6
      const answer = await ask(accept, rowsNamed('a'));
      expect(answer.type).to.match(new RegExp(`^${type}`));
      expect(answer.text.slice(0, first.length)).to.equal(first);
    });
  }

  it('has decimal commas and semicolons where the client requests them, and then quotes semicolons', async () => {
    // contract 4.11:62 4.11:63
    const { type, text } = await ask('text/csv;decimal=comma', rowsNamed('a,b', 'c;d'));
    expect(type).to.match(/^text\/csv/);
    expect(text).to.equal('name;amount\r\na,b;-0.000000000001\r\n"c;d";-0.000000000001\r\n');
    const cells = [
      new Date('2026-11-21T15:40:11.656Z'),
      { picoUsd: -1_500_000_000_001n },
      16.5,
      7n,
      true,
      null,
    ] as const;
    const columns = cells.map((cell, index) => [`${index}`, () => cell] as const);
    for (const [decimal, line] of [
      ['point', '2026-11-21 15:40:11,-1.500000000001,16.5,7,true,'],
      ['comma', '2026-11-21 15:40:11;-1,500000000001;16,5;7;true;'],
    ] as const) {
      const lines: string[] = [];
      for await (const written of toCsv([0], columns, decimal)) lines.push(written);
      expect(lines[1]).to.equal(`${line}\r\n`);
    }
  });

  it('with decimal commas has no formula in a spreadsheet that splits cells at commas', async () => {
    const { text } = await ask('text/csv;decimal=comma', rowsNamed('a,=1+1', 'b, "@SUM(1)'));
    expect(text.split('\r\n').slice(1, 3)).to.deep.equal([
      "a,'=1+1;-0.000000000001",
      `"b, ""'@SUM(1)";-0.000000000001`,
    ]);
  });

  it('is one JSON object per line', async () => {
    const { type, text } = await ask(NDJSON, rowsNamed('a', null));
    expect(type).to.equal(NDJSON);
    expect(
      text
        .trimEnd()
        .split('\n')
        .map((line): unknown => JSON.parse(line)),
    ).to.deep.equal([
      { name: 'a', amount: '-0.000000000001' },
      { name: null, amount: '-0.000000000001' },
    ]);
  });

  for (const accept of ['application/json', '*/*']) {
    it(`is not sent to a client that accepts ${accept}`, async () => {
      expect((await ask(accept, rowsNamed('a'))).text).to.equal('a page');
    });
  }

  it('is cut off when it fails halfway, so that a client does not mistake it for a complete one', async () => {
    const failing = async function* (): AsyncIterable<Row> {
      yield { name: 'a', amount: '1' };
      await Promise.resolve();
      throw new Error('the database is gone');
    };
    const outcome = await ask('text/csv', failing).then(
      () => 'whole',
      () => 'cut off',
    );
    expect(outcome).to.equal('cut off');
  });
});
