import { expect } from 'chai';
import * as fc from 'fast-check';
import { BODIES } from '../../../domain/policy.ts';
import { parseBatchLine } from '../../../services/batches/batch-line.ts';
import { checkBatchInput } from '../../../services/batches/check-input.ts';
import { type Line, LineSplitter } from '../../../domain/line-splitter.ts';
import { InputFileMissingError, readBatchLines } from '../../../services/batches/read-lines.ts';
import type { BatchLine } from '../../../services/batches/batch-line.ts';
import type { Storage } from '../../../storage/storage.ts';
import { casesOf } from '../../support/properties.ts';
import { rejectionOf } from '../../support/rejection.ts';

const MIB = 2 ** 20;
/** Small limits, so that each case takes milliseconds. */
const LIMITS = { maxLines: 50, maxLineBytes: MIB };
const URL = '/v1/chat/completions';

function lineOf(customId: string, body: object = { model: 'm' }): string {
  return JSON.stringify({ custom_id: customId, method: 'POST', url: URL, body });
}

/** The text in pieces of a few bytes. */
async function* inPieces(text: Uint8Array | string, pieceBytes = 7): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
}

/** A store with one object. */
function storeOf(text: Uint8Array | string): Pick<Storage, 'read'> {
  const bytes = Buffer.from(text);
  return {
    read: async (key, { fromByte } = { fromByte: 0 }) => (key === 'a' ? inPieces(bytes.subarray(fromByte)) : null),
  };
}

async function collect<Item>(items: AsyncIterable<Item>): Promise<readonly Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}

async function readAll(text: Uint8Array | string): Promise<readonly BatchLine[]> {
  return collect(readBatchLines(storeOf(text), 'a'));
}

describe('the lines of a file', () => {
  it('are those that splitting the whole text gives, however the file is cut', async () => {
    const texts = fc.array(fc.constantFrom('a', 'é', '\n', '\r\n', '灯'), { maxLength: 30 }).map((all) => all.join(''));
    const cuts = fc.integer({ min: 1, max: 9 });
    await fc.assert(
      fc.asyncProperty(texts, cuts, async (text, pieceBytes) => {
        const splitter = new LineSplitter();
        const lines: Line[] = [];
        for await (const piece of inPieces(text, pieceBytes)) lines.push(...splitter.push(Buffer.from(piece)));
        const last = splitter.end();
        if (last !== null) lines.push(last);
        const expected = text.split('\n');
        if (expected.at(-1) === '') expected.pop();
        expect(lines.map(({ bytes }) => bytes.toString())).to.deep.equal(expected);
        expect(lines.map(({ number }) => number)).to.deep.equal(expected.map((_, index) => index + 1));
        for (const [index, { nextByte }] of lines.entries()) {
          const rest = Buffer.from(text).subarray(nextByte).toString();
          expect(rest).to.equal(
            text
              .split('\n')
              .slice(index + 1)
              .join('\n'),
          );
        }
      }),
      { numRuns: casesOf(300) },
    );
  });
});

describe('readBatchLines', () => {
  const FILE = `\uFEFF${lineOf('a')}\r\n\n  \t\r\n${lineOf('灯')}\n${lineOf('c', { list: [1, '\n'] })}`;

  it('reads requests in order, with their lines’ numbers, past a byte order mark, CRLF and blank lines', async () => {
    const lines = await readAll(FILE);
    expect(lines.map(({ number, customId }) => [number, customId])).to.deep.equal([
      [1, 'a'],
      [4, '灯'],
      [5, 'c'],
    ]);
    expect(lines[2]).to.deep.include({ url: URL, body: { list: [1, '\n'] }, nextByte: Buffer.byteLength(FILE) });
  });

  it('continues after any line', async () => {
    const lines = await readAll(FILE);
    for (const [index, { number, nextByte }] of lines.entries()) {
      const rest = readBatchLines(storeOf(FILE), 'a', { number: number + 1, byte: nextByte });
      expect(await collect(rest)).to.deep.equal(lines.slice(index + 1));
    }
  });

  it('closes the file when its reader stops early', async () => {
    let isClosed = false;
    async function* file(): AsyncGenerator<Uint8Array> {
      try {
        for (;;) yield Buffer.from(`${lineOf('a')}\n`);
      } finally {
        isClosed = true;
      }
    }
    for await (const { customId } of readBatchLines({ read: async () => file() }, 'a')) {
      expect(customId).to.equal('a');
      break;
    }
    expect(isClosed).to.equal(true);
  });

  it('reports a file that is no longer in storage', async () => {
    const reading = collect(readBatchLines(storeOf(FILE), 'b'));
    expect(await rejectionOf(reading)).to.be.instanceOf(InputFileMissingError);
  });
});

describe('a line of a batch', () => {
  const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
  const around = (body: string): string => `{"custom_id":"a","method":"POST","url":"${URL}","body":${body}}`;
  const cases: readonly [string, string | Uint8Array, RegExp][] = [
    ['text', 'hello', /must be a JSON object with "custom_id"/],
    ['a list', '[]', /must be a JSON object with "custom_id"/],
    ['null', 'null', /must be a JSON object with "custom_id"/],
    ['half an object', lineOf('a').slice(0, -2), /must be a JSON object/],
    ['two objects', lineOf('a') + lineOf('b'), /must be a JSON object/],
    ['invalid UTF-8', Buffer.concat([Buffer.from(lineOf('a')), Buffer.of(0xff)]), /The text is not UTF-8/],
    ['UTF-16', Buffer.from(lineOf('a'), 'utf16le'), /must be a JSON object/],
    ['no custom_id', '{"method":"POST","url":"/v1/x","body":{}}', /"custom_id" must be a text of 1 to 512/],
    ['a number as custom_id', '{"custom_id":1,"method":"POST","url":"/v1/x","body":{}}', /"custom_id"/],
    ['an empty custom_id', lineOf(''), /"custom_id"/],
    ['a long custom_id', lineOf('x'.repeat(513)), /"custom_id"/],
    ['a custom_id that cannot be stored', lineOf('\0'), /"custom_id"/],
    ['another method', lineOf('a').replace('POST', 'GET'), /"method" must be "POST"/],
    ['no method', lineOf('a').replace('method', 'verb'), /"method"/],
    ['an address as url', lineOf('a').replace(URL, 'https://x.test/v1'), /"url" must be the path/],
    ['no body', lineOf('a').replace('body', 'params'), /"body" must be an object/],
    ['a list as body', around('[]'), /"body" must be an object/],
    ['deep nesting', around(`{"a":${nested(64)}}`), /nests deeper than 65 levels/],
    ['very deep nesting', around(nested(4 * MIB)), /nests deeper than 65 levels/],
    ['many values', around(`{"a":[${'0,'.repeat(400_000)}0]}`), /more than 310016 values/],
    ['unfinished nesting', '['.repeat(8 * MIB), /nests deeper than 65 levels/],
  ];
  for (const [what, text, message] of cases) {
    it(`is refused with its number if it is ${what}`, async () => {
      const failure = await rejectionOf(parseBatchLine({ number: 3, bytes: Buffer.from(text), nextByte: 0 }));
      expect(failure).to.include({ code: 'bad_request' });
      expect(String(failure))
        .to.match(/Line 3: /)
        .and.to.match(message);
    });
  }

  it('has a body as deep as a direct request may have', async () => {
    const bytes = Buffer.from(around(`{"a":${nested(BODIES.text.maxDepth - 1)}}`));
    expect((await parseBatchLine({ number: 1, bytes, nextByte: 0 })).customId).to.equal('a');
  });

  it('keeps a field __proto__ of a large body as a field', async () => {
    const bytes = Buffer.from(around(`{"__proto__":{"a":1},"text":"${'x'.repeat(MIB)}"}`));
    const { body } = await parseBatchLine({ number: 1, bytes, nextByte: 0 });
    expect(Object.keys(body)).to.deep.equal(['__proto__', 'text']);
    expect(Object.getPrototypeOf(body)).to.equal(Object.prototype);
  });
});

describe('checkBatchInput', () => {
  async function check(
    source: AsyncIterable<Uint8Array>,
  ): Promise<{ bytes: number; count: number; heldBytes: number }> {
    let heldBytes = 0;
    let bytes = 0;
    const { body, lines } = checkBatchInput(source, (held) => (heldBytes = Math.max(heldBytes, held)), LIMITS);
    for await (const piece of body) bytes += piece.byteLength;
    return { bytes, count: lines.count, heldBytes };
  }

  async function* repeated(text: string, times: number): AsyncGenerator<Uint8Array> {
    for (let sent = 0; sent < times; sent += 1) yield Buffer.from(text);
  }

  it('passes the file on unchanged, and counts its requests', async () => {
    const file = `${lineOf('a')}\n\n${lineOf('b')}`;
    expect(await check(inPieces(file))).to.include({ bytes: file.length, count: 2 });
  });

  const long = 'x'.repeat(LIMITS.maxLineBytes - lineOf('a', { text: '' }).length);
  it('accepts a line of the greatest length, and holds no more than the line', async () => {
    const file = `${lineOf('a', { text: long })}\n${lineOf('b', { text: long })}`;
    const { count, heldBytes } = await check(inPieces(file, 65_536));
    expect(count).to.equal(2);
    expect(heldBytes).to.be.at.most(LIMITS.maxLineBytes);
  });

  it('refuses a longer line as soon as it is too long, with its number', async () => {
    async function* endless(): AsyncGenerator<Uint8Array> {
      yield Buffer.from(`${lineOf('a')}\n{"custom_id":"`);
      for (;;) yield Buffer.alloc(MIB, 'x');
    }
    expect(String(await rejectionOf(check(endless())))).to.match(/Line 2: The line is longer than 1 MB/);
  });

  it('accepts the greatest number of lines and refuses one more, blank lines included', async () => {
    async function* many(count: number): AsyncGenerator<Uint8Array> {
      for (let index = 0; index < count; index += 1) yield Buffer.from(`${lineOf(String(index))}\n`);
    }
    expect(await check(many(LIMITS.maxLines))).to.include({ count: LIMITS.maxLines });
    for (const source of [many(LIMITS.maxLines + 1), repeated('\n'.repeat(MIB), 200)]) {
      expect(String(await rejectionOf(check(source)))).to.match(/more than 50 lines/);
    }
  });

  const refused: readonly [string, AsyncIterable<Uint8Array>, RegExp][] = [
    ['an empty file', inPieces(''), /The file is empty/],
    ['blank lines alone', inPieces('\n \n\r\n'), /The file is empty/],
    ['a byte order mark alone', inPieces('\uFEFF'), /Line 1: /],
    ['a repeated custom_id', inPieces(`${lineOf('a')}\n${lineOf('b')}\n${lineOf('a')}`), /Line 3: "custom_id" is "a"/],
    ['an error in the last line without a line break', inPieces(`${lineOf('a')}\n{`), /Line 2: /],
    ['a line of white space', repeated(' '.repeat(MIB / 2), 2), /Line 1: /],
    ['many bad lines', repeated('{"custom_id":\n'.repeat(10), 10), /Line 1: /],
  ];
  for (const [what, source, message] of refused) {
    it(`refuses ${what}`, async () => {
      const failure = await rejectionOf(check(source));
      expect(failure).to.include({ code: 'bad_request' });
      expect(String(failure)).to.match(message);
    });
  }
});
