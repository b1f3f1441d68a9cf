import { expect } from 'chai';
import * as fc from 'fast-check';
import { parseInSteps, parseJson } from '../../../text/json/parse.ts';
import { runAtOnce } from '../../../text/json/steps.ts';
import { growthOf } from '../../support/growth.ts';
import { longestStepShare } from '../../support/longest-step.ts';
import { rejectionOf } from '../../support/rejection.ts';
import { casesOf } from '../../support/properties.ts';

const MIB = 2 ** 20;

/** A parser's result for a text: its value, or that it is invalid JSON. */
function outcomeOf(parse: () => unknown): unknown {
  try {
    return { value: parse() };
  } catch (error) {
    expect(error).to.be.instanceOf(SyntaxError);
    return 'no JSON';
  }
}

/** JSON, and texts that nearly are. */
const almostJson = fc.json().chain((json) =>
  fc.oneof(
    fc.constant(json),
    fc.nat(json.length).map((end) => json.slice(0, end)),
    fc
      .tuple(
        fc.nat(json.length),
        fc.constantFrom('"', '{', '}', '[', ']', ',', ':', '\\', '-', '1', '01', ' ', '\n', '\u0001', 'é', '\\u00e'),
      )
      .map(([at, text]) => json.slice(0, at) + text + json.slice(at + 1)),
  ),
);

describe('parsing JSON in steps', () => {
  it('returns for any text the result of JSON.parse', () => {
    fc.assert(
      fc.property(fc.oneof(almostJson, fc.string()), (text) => {
        const inSteps = outcomeOf(() => runAtOnce(parseInSteps(Buffer.from(text))));
        expect(inSteps).to.deep.equal(outcomeOf(() => JSON.parse(Buffer.from(text).toString())));
      }),
      { numRuns: casesOf(2_000) },
    );
  });

  it('returns the same for a long text, for any split into pieces', () => {
    const units = fc.constantFrom('x', '\\', '\\n', '\\"', '\\u4f60', '\\ud83c\\udfe0', '你', '🏠', 'é');
    fc.assert(
      fc.property(fc.nat(9), units, (shift, unit) => {
        const text = `["${'a'.repeat(shift)}${unit.repeat((2 * MIB) / unit.length)}", 1]`;
        const inSteps = outcomeOf(() => runAtOnce(parseInSteps(Buffer.from(text))));
        expect(inSteps).to.deep.equal(outcomeOf(() => JSON.parse(text)));
      }),
      { numRuns: casesOf(30) },
    );
  });

  it('returns the value of each of many documents, large and small', async () => {
    const values = Array.from({ length: 12 }, (_, index) => ({
      index,
      text: '你'.repeat(index % 3 === 0 ? 3 : MIB / 4),
    }));
    const parsed = await Promise.all(values.map((value) => parseJson(Buffer.from(JSON.stringify(value)))));
    expect(parsed).to.deep.equal(values);
  });

  it('keeps fields of any name, and sets no prototype', async () => {
    const parsed = await parseJson(Buffer.from(`{"__proto__": {"a": 1}, "text": "${'x'.repeat(MIB)}"}`));
    expect(Object.keys(Object(parsed))).to.deep.equal(['__proto__', 'text']);
    expect(Object.getPrototypeOf(parsed)).to.equal(Object.prototype);
  });

  it('skips a byte order mark, also before a small document', async () => {
    const parsed = ['x', 'x'.repeat(MIB)].map((text) => parseJson(Buffer.from(`\uFEFF{"a":"${text}"}`)));
    expect(await Promise.all(parsed)).to.have.deep.ordered.members([{ a: 'x' }, { a: 'x'.repeat(MIB) }]);
  });

  it('refuses truncated documents, and continues with others', async () => {
    const others = parseJson(Buffer.from(`"${'y'.repeat(MIB)}"`));
    expect(await rejectionOf(parseJson(Buffer.from(`"${'x'.repeat(MIB)}`)))).to.be.instanceOf(SyntaxError);
    expect(await others).to.equal('y'.repeat(MIB));
  });

  for (const [what, text] of [
    ['text', `"${'Hello, world. '.repeat((31 * MIB) / 14)}"`],
    ['Chinese text', `"${'你好'.repeat((31 * MIB) / 6)}"`],
    ['escaped text', `"${'\\"'.repeat((31 * MIB) / 2)}"`],
    ['empty objects', `[${'{},'.repeat(MIB)}0]`],
    ['spaces', `${' '.repeat(31 * MIB)}0`],
  ] as const) {
    it(`does not delay other requests while it parses megabytes of ${what}`, () => {
      const bytes = Buffer.from(text);
      expect(longestStepShare(() => parseInSteps(bytes))).to.be.below(0.25);
    });
  }

  for (const [what, textOf] of [
    ['text', (size: number) => `"${'x'.repeat(64 * size)}"`],
    ['escaped text', (size: number) => `"${'\\"'.repeat(64 * size)}"`],
    ['values', (size: number) => `[${'{},'.repeat(size)}0]`],
    ['fields', (size: number) => `{${Array.from({ length: size }, (_, index) => `"${index}":0`).join(',')}}`],
    ['spaces', (size: number) => `${' '.repeat(64 * size)}0`],
  ] as const) {
    it(`takes time in proportion to its ${what}`, () => {
      const growth = growthOf((size) => {
        const bytes = Buffer.from(textOf(size));
        return () => runAtOnce(parseInSteps(bytes));
      });
      expect(growth).to.be.below(3);
    });
  }
});
