import { expect } from 'chai';
import { assert, bigInt, property } from 'fast-check';
import { formatUsd, parseUsd, PICO_PER_USD } from '../../domain/money.ts';
import { readBilledAmount } from '../../domain/vendor-bill.ts';

describe('the amount of a billed line', () => {
  for (const [text, decimalMark, usd] of [
    ['0.35', '.', '0.35'],
    ['$1,234.50', '.', '1234.5'],
    ['USD 12', '.', '12'],
    ['-3.10', '.', '-3.1'],
    ['1.2e-05', '.', '0.000012'],
    ['.5', '.', '0.5'],
    ['1.234,5', ',', '1234.5'],
    ['0,35 €', ',', '0.35'],
    ['12.5元', '.', '12.5'],
    ['￥12', '.', '12'],
    ['(3.10)', '.', null],
    ['0.0000000000005', '.', '0.000000000001'],
    ['1e400', '.', null],
    ['999999999999', '.', null],
    ['', '.', null],
    ['-', '.', null],
    ['1.2.3', '.', null],
    ['0,5', '.', null],
    ['1.234,56', '.', null],
    ['12,34,567.8', '.', null],
    ['1,234,567.89', '.', '1234567.89'],
    ['-1,234', '.', '-1234'],
    ['0.5', ',', null],
    ['1,234.56', ',', null],
    ['1.234.567,89', ',', '1234567.89'],
    [',1', '.', null],
    ['1,', '.', null],
    ['0x10', '.', null],
    ['=1+1', '.', null],
    ['NaN', '.', null],
    ['9'.repeat(100_000), '.', null],
  ] as const) {
    it(`${JSON.stringify(text.slice(0, 20))} with a decimal ${decimalMark} is ${usd ?? 'none'}`, () => {
      const amount = readBilledAmount(text, PICO_PER_USD, decimalMark);
      expect(amount === null ? null : formatUsd(amount)).to.equal(usd);
    });
  }

  it('in another currency is multiplied by the exchange rate', () => {
    expect(readBilledAmount('¥10', parseUsd('0.14'), '.')).to.equal(parseUsd('1.4'));
  });

  it('is any amount below a billion, as written', () => {
    const most = 10n ** 9n * PICO_PER_USD - 1n;
    assert(
      property(bigInt({ min: -most, max: most }), (amount) => {
        expect(readBilledAmount(formatUsd(amount), PICO_PER_USD, '.')).to.equal(amount);
      }),
    );
  });
});
