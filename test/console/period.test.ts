import { expect } from 'chai';
import * as fc from 'fast-check';
import { periodOf, USUAL_PERIODS, usualPeriods } from '../../console/period.ts';

describe('console/period', () => {
  it('has the days of each usual period, in UTC, across the ends of months and years', () => {
    expect(usualPeriods(Date.parse('2027-01-03T23:59:59Z'))).to.deep.equal({
      today: ['2027-01-03', '2027-01-03'],
      yesterday: ['2027-01-02', '2027-01-02'],
      sevenDays: ['2026-12-28', '2027-01-03'],
      thirtyDays: ['2026-12-05', '2027-01-03'],
      thisMonth: ['2027-01-01', '2027-01-03'],
      lastMonth: ['2026-12-01', '2026-12-31'],
    });
  });

  it('reads each usual period as whole days that are not in the future', () => {
    const moment = fc.date({ min: new Date('2001-01-01'), max: new Date('2400-01-01'), noInvalidDate: true });
    fc.assert(
      fc.property(moment, (now) => {
        for (const name of USUAL_PERIODS) {
          const [from, to] = usualPeriods(now.getTime())[name];
          const period = periodOf(new URLSearchParams({ from, to }));
          expect(period.from?.getTime()).to.be.at.most(now.getTime());
          expect(period.to?.getTime()).to.be.greaterThan(period.from?.getTime() ?? NaN);
          expect(to <= now.toISOString().slice(0, 10)).to.equal(true);
        }
      }),
    );
  });
});
