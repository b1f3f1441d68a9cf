import { expect } from 'chai';
import * as fc from 'fast-check';
import { ServiceError } from '../../../domain/errors.ts';
import { JsonSizer } from '../../../text/json/size.ts';

const WIDE = { maxDepth: 1_000, maxValues: 1_000_000 };

function sized(text: string, pieceLength: number): JsonSizer {
  const sizer = new JsonSizer(WIDE);
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += pieceLength) sizer.push(bytes.subarray(at, at + pieceLength));
  return sizer;
}

function countValues(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce((sum: number, item) => sum + countValues(item), 1);
}

describe('a JSON document', () => {
  it('is counted as at least its number of values, and at most three times this number, for any split of its bytes', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 6 }), fc.integer({ min: 1, max: 9 }), (text, pieceLength) => {
        const values = countValues(JSON.parse(text));
        const size = sized(text, pieceLength).values;
        expect(size)
          .to.be.at.least(values)
          .and.at.most(values * 3 + 1);
        expect(size).to.equal(sized(text, text.length + 1).values);
      }),
    );
  });

  it('a JSON document is searched for its model', () => {
    const other = fc.dictionary(fc.string({ maxLength: 5 }), fc.jsonValue(), { maxKeys: 4, noNullPrototype: true });
    fc.assert(
      fc.property(other, other, fc.integer({ min: 1, max: 9 }), (first, second, pieceLength) => {
        const text = JSON.stringify({ ...first, model: 'text-1', ...second, model_: 1, input: [{ model: 'x' }] });
        const { model } = JSON.parse(text) as { model: unknown };
        const seen = sized(text, pieceLength).model;
        if (model === 'text-1') expect(seen).to.equal('text-1');
        else expect(seen).to.be.oneOf([model, null]);
      }),
    );
  });

  for (const [what, text] of [
    ['with too many values', `[${'{},'.repeat(600)}0]`],
    ['that nests too deeply', '['.repeat(11)],
    ['with a field whose name is too long', `{"${'a'.repeat(5_000)}":1}`],
  ] as const) {
    it(`${what} is refused before its end`, () => {
      // contract 8.2:3
      const sizer = new JsonSizer({ maxDepth: 10, maxValues: 1_000 });
      expect(() => sizer.push(Buffer.from(text)))
        .to.throw(ServiceError)
        .with.property('code', 'bad_request');
    });
  }

  it('is counted without the content of strings', () => {
    expect(sized(JSON.stringify(['[{,:"\\', '\\"[,']), 1).values).to.equal(3);
  });
});
