import { expect } from 'chai';
import * as fc from 'fast-check';
import { greatestCommonDivisor, parseRational } from '../../domain/rational.ts';

describe('rational numbers', () => {
  for (const [decimal, numerator, denominator] of [
    ['1.6', 8n, 5n],
    ['2', 2n, 1n],
    ['0.05', 1n, 20n],
    ['1.50', 3n, 2n],
    ['999999.999999', 999_999_999_999n, 1_000_000n],
  ] as const) {
    it(`reads ${decimal} as ${numerator}/${denominator}`, () => {
      expect(parseRational(decimal)).to.deep.equal({ decimal, numerator, denominator });
    });
  }

  for (const text of ['', '0', '0.0', '-1', '1/2', '1e3', '.5', '2.', '1.1234567', '1234567']) {
    it(`refuses ${JSON.stringify(text)}`, () => {
      expect(() => parseRational(text)).to.throw(RangeError);
    });
  }

  it('finds the greatest common divisor', () => {
    const whole = fc.integer({ min: 1, max: 500 });
    fc.assert(
      fc.property(whole, whole, (left, right) => {
        const divisor = greatestCommonDivisor(left, right);
        const common = Array.from({ length: 500 }, (_, index) => index + 1).filter(
          (candidate) => left % candidate === 0 && right % candidate === 0,
        );
        expect(divisor).to.equal(Math.max(...common));
      }),
    );
  });
});
