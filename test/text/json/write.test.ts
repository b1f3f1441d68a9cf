import { expect } from 'chai';
import * as fc from 'fast-check';
import { parseJson } from '../../../text/json/parse.ts';
import { jsonTextOf, writeInSteps, writeJson, type WrittenJson } from '../../../text/json/write.ts';
import { longestStepShare } from '../../support/longest-step.ts';
import { casesOf } from '../../support/properties.ts';

const MIB = 2 ** 20;

function textOf(written: WrittenJson): string {
  return typeof written === 'string' ? written : Buffer.concat(written).toString();
}

describe('writing JSON in steps', () => {
  it('writes the same as JSON.stringify, for any split of a text', async () => {
    const long = fc
      .constantFrom('x', '"\n', '你好', '🏠')
      .chain((unit) => fc.nat(3).map((shift) => 'a'.repeat(shift) + unit.repeat(MIB / unit.length)));
    const value = fc.oneof(
      fc.jsonValue(),
      long,
      fc.array(long, { maxLength: 2 }),
      fc.record({ a: long, b: fc.jsonValue() }),
    );
    await fc.assert(
      fc.asyncProperty(value, async (given) => {
        expect(textOf(await writeJson({ given, left: undefined, list: [undefined, given] }))).to.equal(
          JSON.stringify({ given, left: undefined, list: [undefined, given] }),
        );
      }),
      { numRuns: casesOf(24) },
    );
  });

  it('writes integers of any size with the digits that were read', async () => {
    const json = fc
      .jsonValue({ maxDepth: 3 })
      .chain((value) =>
        fc
          .bigInt({ min: -(2n ** 70n), max: 2n ** 70n })
          .map((integer) => `[${integer},{"id":${integer},"of":[${JSON.stringify(value)}]}]`),
      );
    await fc.assert(
      fc.asyncProperty(json, async (text) => {
        const value = await parseJson(Buffer.from(text));
        expect(textOf(await writeJson(value))).to.equal(text);
        expect(jsonTextOf(value)).to.equal(text);
      }),
      { numRuns: casesOf(100) },
    );
  });

  it('does not delay other requests while it writes a request of 32 MB', () => {
    const request = { messages: [{ role: 'user', content: '"Hello, world." '.repeat(2 * MIB) }] };
    expect(longestStepShare(() => writeInSteps(request))).to.be.below(0.25);
  });
});
