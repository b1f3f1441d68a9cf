import { expect } from 'chai';
import { parseJson } from '../../api/json-parser.ts';
import { rejectionOf } from '../support/rejection.ts';

const MIB = 2 ** 20;

const bytesOf = (text: string): Buffer<ArrayBuffer> => Buffer.from(new TextEncoder().encode(text));

describe('parsing JSON', () => {
  it('gives each of many documents its own value, large and small', async () => {
    const values = Array.from({ length: 12 }, (_, index) => ({
      index,
      text: '你'.repeat(index % 3 === 0 ? 3 : MIB / 4),
    }));
    const parsed = await Promise.all(values.map((value) => parseJson(bytesOf(JSON.stringify(value)))));
    expect(parsed).to.deep.equal(values);
  });

  it('keeps fields of any name, and sets no prototype', async () => {
    const text = `{"__proto__": {"a": 1}, "text": "${'x'.repeat(MIB)}"}`;
    const parsed = await parseJson(bytesOf(text));
    expect(Object.keys(Object(parsed))).to.deep.equal(['__proto__', 'text']);
    expect(Object.getPrototypeOf(parsed)).to.equal(Object.prototype);
  });

  for (const [what, bytes] of [
    ['cut short', bytesOf(`"${'x'.repeat(MIB)}`)],
    ['not UTF-8', Buffer.concat([bytesOf(`"${'x'.repeat(MIB)}`), Buffer.from('fffe22', 'hex')])],
    ['cut short, and small', bytesOf('{"a"')],
  ] as const) {
    it(`refuses what is ${what}, and goes on`, async () => {
      expect(await rejectionOf(parseJson(bytes))).to.include({ code: 'bad_request', status: 400 });
      expect(await parseJson(bytesOf(`"${'y'.repeat(MIB)}"`))).to.equal('y'.repeat(MIB));
    });
  }
});
