import { expect } from 'chai';
import { assert, constantFrom, date, property } from 'fast-check';
import { describeLimit, LIMIT_PERIODS, renewalOf, startOfPeriod } from '../../domain/api-key.ts';

const RENEWALS: readonly (readonly [period: (typeof LIMIT_PERIODS)[number], now: string, renewal: string])[] = [
  ['day', '2026-12-31T23:59:59.999Z', '2027-01-01T00:00:00.000Z'],
  ['day', '2027-01-01T00:00:00.000Z', '2027-01-02T00:00:00.000Z'],
  ['week', '2026-11-29T23:00:00.000Z', '2026-11-30T00:00:00.000Z'],
  ['week', '2026-11-30T00:00:00.000Z', '2026-12-07T00:00:00.000Z'],
  ['month', '2028-02-29T12:00:00.000Z', '2028-03-01T00:00:00.000Z'],
  ['month', '2027-01-31T00:00:00.000Z', '2027-02-01T00:00:00.000Z'],
];

describe('the limit of a key that renews', () => {
  for (const [period, now, renewal] of RENEWALS) {
    it(`renews each ${period}: after ${now} at ${renewal}`, () => {
      expect(renewalOf(period, new Date(now)).toISOString()).to.equal(renewal);
    });
  }

  it('renews when the next period starts, whatever the moment', () => {
    const moments = date({ min: new Date('2000-01-01'), max: new Date('2100-01-01'), noInvalidDate: true });
    assert(
      property(constantFrom(...LIMIT_PERIODS), moments, (period, now) => {
        const renewal = renewalOf(period, now);
        expect(startOfPeriod(period, now) <= now && now < renewal).to.equal(true);
        expect(startOfPeriod(period, renewal)).to.deep.equal(renewal);
        expect(startOfPeriod(period, new Date(renewal.getTime() - 1))).to.deep.equal(startOfPeriod(period, now));
      }),
    );
  });

  it('is named in refusals with the time of its renewal', () => {
    const limit = { usageLimit: 5n * 10n ** 12n, limitPeriod: 'week' } as const;
    expect(describeLimit(limit, new Date('2026-11-26T10:00:00Z'))).to.equal(
      "the key's budget of 5 USD a week, which renews at 2026-11-30T00:00:00Z",
    );
  });
});
