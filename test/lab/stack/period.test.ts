import { expect } from 'chai';
import * as fc from 'fast-check';
import { commonTo, coveredOf, gapsBetween, lengthOf, type Period } from '../../../lab/stack/period.ts';

const period = fc
  .tuple(fc.integer({ min: 0, max: 60 }), fc.integer({ min: 0, max: 30 }))
  .map(([fromMs, length]): Period => ({ fromMs, untilMs: fromMs + length }));

describe('the periods of a drill', () => {
  it('fill the gaps between moments, and add up to the whole', () => {
    fc.assert(
      fc.property(period, fc.array(fc.integer({ min: 0, max: 100 })), (whole, moments) => {
        const gaps = gapsBetween(moments, whole);
        expect(gaps.reduce((sum, gap) => sum + lengthOf(gap), 0)).to.equal(lengthOf(whole));
        for (const { fromMs, untilMs } of gaps) {
          expect(moments.filter((moment) => fromMs < moment && moment < untilMs)).to.deep.equal([]);
        }
      }),
    );
  });

  it('belong to the common periods of lists wherever each list has a period', () => {
    const isIn = (list: readonly Period[], at: number): boolean =>
      list.some(({ fromMs, untilMs }) => fromMs <= at && at < untilMs);
    fc.assert(
      fc.property(fc.array(fc.array(period), { minLength: 1, maxLength: 3 }), (lists) => {
        const common = commonTo(lists);
        for (let at = 0; at < 100; at += 1) expect(isIn(common, at)).to.equal(lists.every((list) => isIn(list, at)));
      }),
    );
  });

  it('count each moment that other periods cover once', () => {
    fc.assert(
      fc.property(period, fc.array(period), (whole, others) => {
        const moments = Array.from({ length: lengthOf(whole) }, (_, index) => whole.fromMs + index);
        const covered = moments.filter((at) => others.some(({ fromMs, untilMs }) => fromMs <= at && at < untilMs));
        expect(coveredOf(whole, others)).to.equal(covered.length);
      }),
    );
  });
});
