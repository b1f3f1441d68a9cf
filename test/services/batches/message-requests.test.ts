import { expect } from 'chai';
import * as fc from 'fast-check';
import { BATCHES } from '../../../domain/policy.ts';
import { readMessageRequests } from '../../../services/batches/message-requests.ts';
import { RequestSplitter } from '../../../services/batches/request-splitter.ts';
import { casesOf } from '../../support/properties.ts';
import { rejectionOf } from '../../support/rejection.ts';

const MIB = 2 ** 20;
/** Small limits, so that each case takes milliseconds. */
const LIMITS = { maxLines: 50, maxLineBytes: MIB };

async function* inPieces(text: string, pieceBytes = 5): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
}

async function read(source: AsyncIterable<Uint8Array>): Promise<{ readonly text: string; readonly heldBytes: number }> {
  let heldBytes = 0;
  let text = '';
  const { body } = readMessageRequests(source, (held) => (heldBytes = Math.max(heldBytes, held)), LIMITS);
  for await (const piece of body) text += Buffer.from(piece).toString();
  return { text, heldBytes };
}

const requestOf = (id: string, params: object = { model: 'm' }) => ({ custom_id: id, params });
const bodyOf = (...requests: readonly unknown[]): string => JSON.stringify({ requests });

describe('RequestSplitter', () => {
  it('finds the requests of any document, however it is cut and indented, and leaves the rest as JSON', () => {
    const texts = fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom('\\', '"', '{', ']', 'a') }));
    const requests = fc.array(fc.dictionary(texts, fc.oneof(texts, fc.jsonValue())), { maxLength: 5 });
    const cases = fc.tuple(requests, fc.constantFrom(0, 2, 7), fc.integer({ min: 1, max: 40 }));
    fc.assert(
      fc.property(cases, ([all, spaces, pieceBytes]) => {
        const bytes = Buffer.from(JSON.stringify({ requests: all }, null, spaces));
        const splitter = new RequestSplitter();
        const found: Buffer[] = [];
        for (let at = 0; at < bytes.length; at += pieceBytes)
          found.push(...splitter.push(bytes.subarray(at, at)), ...splitter.push(bytes.subarray(at, at + pieceBytes)));
        expect(found.map((request) => JSON.parse(request.toString()))).to.deep.equal(JSON.parse(JSON.stringify(all)));
        expect(JSON.parse(splitter.end().toString())).to.deep.equal({ requests: all.map(() => 0) });
      }),
      { numRuns: casesOf(300) },
    );
  });
});

describe('the requests of a batch of messages', () => {
  it('become the lines of an input file', async () => {
    const params = { model: 'm', text: '\n"}]\\', list: [{ a: [] }] };
    const { text } = await read(inPieces(bodyOf(requestOf('a', params), requestOf('灯'))));
    expect(text).to.match(/\n$/);
    expect(
      text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).to.deep.equal([
      { custom_id: 'a', method: 'POST', url: '/v1/messages', body: params },
      { custom_id: '灯', method: 'POST', url: '/v1/messages', body: { model: 'm' } },
    ]);
  });

  it('are held one at a time', async () => {
    const long = { text: 'x'.repeat(MIB / 2) };
    const { text, heldBytes } = await read(inPieces(bodyOf(requestOf('a', long), requestOf('b', long)), 65_536));
    expect(text.length).to.be.above(MIB);
    expect(heldBytes).to.be.below(MIB * 0.75);
  });

  async function* many(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('{"requests":[');
    for (let index = 0; ; index += 1) yield Buffer.from(`{"custom_id":"${index}","params":{}},`);
  }
  async function* endless(start: string, piece: Buffer): AsyncGenerator<Uint8Array> {
    yield Buffer.from(start);
    for (;;) yield piece;
  }

  const refused: readonly [string, AsyncIterable<Uint8Array>, RegExp][] = [
    ['no body', inPieces(''), /must be a JSON object with the list "requests"/],
    ['text', inPieces('hello'), /must be a JSON object/],
    ['a list', inPieces(JSON.stringify([[requestOf('a')]])), /must be a JSON object/],
    ['an object without requests', inPieces('{}'), /must be a JSON object/],
    ['no requests', inPieces(bodyOf()), /requires at least 1 item/],
    ['requests in an object', inPieces('{"requests":{"a":{}}}'), /./],
    [
      'another list of objects',
      inPieces('{"other":[{"custom_id":"a","params":{}}],"requests":[]}'),
      /"other" is unknown/,
    ],
    ['requests twice', inPieces(`{"requests":[${JSON.stringify(requestOf('a'))}],"requests":[]}`), /must be objects/],
    ['a number as a request', inPieces(`{"requests":[0,${JSON.stringify(requestOf('a'))}]}`), /must be objects/],
    ['a list as a request', inPieces(bodyOf([])), /requests\.0: A request must be an object/],
    ['a request without params', inPieces(bodyOf(requestOf('a'), { custom_id: 'b' })), /requests\.1: "params"/],
    ['a request without an id', inPieces(bodyOf({ params: {} })), /requests\.0: "custom_id"/],
    ['a repeated id', inPieces(bodyOf(requestOf('a'), requestOf('a'))), /requests\.1: "custom_id" is "a"/],
    ['a body that is cut', inPieces(bodyOf(requestOf('a')).slice(0, -1)), /must be a JSON object/],
    ['a request that is cut', inPieces(bodyOf(requestOf('a')).slice(0, -4)), /must be a JSON object/],
    ['commas without requests', inPieces('{"requests":[,]}'), /must be a JSON object/],
    ['text in a request', inPieces('{"requests":[{"custom_id":x}]}'), /must be a JSON object/],
    ['too many requests', many(), /more than 50 items/],
    ['deep nesting', inPieces(`{"requests":[{"params":${'['.repeat(1_000)}`), /must be a JSON object/],
    [
      'deep nesting in a request',
      inPieces(`{"requests":[{"custom_id":"a","params":{"a":${'['.repeat(100)}${']'.repeat(100)}}}]}`),
      /requests\.0: The body nests deeper/,
    ],
    ['an endless request', endless('{"requests":[{"a":"', Buffer.alloc(MIB, 'x')), /longer than 1 MB/],
    ['endless nesting', endless('{"requests":[', Buffer.alloc(MIB, '[')), /longer than 1 MB/],
    ['endless space', endless('{', Buffer.alloc(MIB, ' ')), /must be a JSON object/],
  ];
  for (const [what, source, message] of refused) {
    it(`are refused if the body is ${what}`, async () => {
      const failure = await rejectionOf(read(source));
      expect(failure).to.include({ code: 'bad_request' });
      expect(String(failure)).to.match(message);
    });
  }

  it('have the limits of lines', () => {
    expect(BATCHES).to.include({ maxLines: 50_000, maxLineBytes: 16 * MIB });
  });
});
