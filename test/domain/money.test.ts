import { expect } from 'chai';
import * as fc from 'fast-check';
import { formatUsd, parseUsd, toUsdNumber } from '../../domain/money.ts';

const amount = fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n });

describe('money', () => {
  it('counts one USD as 10¹² pico-USD', () => {
    expect(parseUsd('1')).to.equal(1_000_000_000_000n);
  });

  for (const [usd, pico] of [
    ['0.05775', 57_750_000_000n],
    ['0.000000000001', 1n],
    ['-0.5', -500_000_000_000n],
    ['12.50', 12_500_000_000_000n],
    ['007', 7_000_000_000_000n],
  ] as const) {
    it(`reads ${usd} without rounding`, () => {
      expect(parseUsd(usd)).to.equal(pico);
    });
  }

  for (const [usd, pico] of [
    [0.1, 100_000_000_000n],
    [1e-7, 100_000n],
    [1.5e-12 * 2, 3n],
    [-2.5e-7, -250_000n],
    [1000, 1_000_000_000_000_000n],
  ] as const) {
    it(`reads the number ${usd} by its digits`, () => {
      // contract 4.11:59
      expect(parseUsd(usd)).to.equal(pico);
    });
  }

  for (const text of ['', '.5', '5.', '1e3', '+1', '0x10', '1,5', ' 1', '1 ', '0.0000000000001', '1'.repeat(21), '١']) {
    it(`refuses ${JSON.stringify(text)}`, () => {
      expect(() => parseUsd(text)).to.throw(RangeError);
    });
  }

  for (const number of [Number.NaN, Number.POSITIVE_INFINITY, 1e21, 1e-13, 0.1 + 0.2]) {
    it(`refuses the number ${number}, which is not an amount with at most 12 decimals`, () => {
      // contract 4.11:59
      expect(() => parseUsd(number)).to.throw(RangeError);
    });
  }

  it('writes no trailing zeros', () => {
    expect([0n, 500_000_000_000n, -1n, 20_000_000_000_000n].map(formatUsd)).to.deep.equal([
      '0',
      '0.5',
      '-0.000000000001',
      '20',
    ]);
  });

  it('reads back every amount that it writes', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(10n ** 31n), max: 10n ** 31n }), (pico) => {
        expect(parseUsd(formatUsd(pico))).to.equal(pico);
      }),
    );
  });

  it('keeps the order of amounts in the numbers that clients receive', () => {
    // contract 2:1
    fc.assert(
      fc.property(amount, amount, (left, right) => {
        const [smaller, larger] = left < right ? [left, right] : [right, left];
        expect(toUsdNumber(smaller)).to.be.at.most(toUsdNumber(larger));
      }),
    );
  });
});
