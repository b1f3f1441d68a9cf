import { expect } from 'chai';
import * as fc from 'fast-check';
import { FAULTS } from '../../../lab/drill/faults/kinds.ts';
import { FAULT_NAMES, type FaultName } from '../../../lab/drill/faults/kinds.ts';
import { planFaults } from '../../../lab/drill/plan.ts';
import { createRandom } from '../../../lab/drill/random.ts';

const drills = fc.record({
  seed: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
  faults: fc.integer({ min: 1, max: 200 }),
  durationMs: fc.integer({ min: 1_000, max: 600_000 }),
});

describe('the plan of a drill', () => {
  it('contains all of its faults, in order and within its time', () => {
    fc.assert(
      fc.property(drills, ({ seed, faults, durationMs }) => {
        const plan = planFaults(createRandom(seed), { faults, durationMs, kinds: FAULT_NAMES });
        const moments = plan.map(({ atMs }) => atMs);
        expect(plan).to.have.length(faults);
        expect(moments).to.deep.equal(moments.toSorted((one, other) => one - other));
        expect(moments.at(-1)).to.be.at.most(durationMs);
      }),
    );
  });

  it('contains every kind once before it repeats one, and the kinds that come first or take minutes only once', () => {
    fc.assert(
      fc.property(drills, ({ seed, faults, durationMs }) => {
        const plan = planFaults(createRandom(seed), { faults, durationMs, kinds: FAULT_NAMES });
        const countsOf = (names: readonly FaultName[]): number[] =>
          names.map((name) => plan.filter(({ kind }) => kind === name).length);
        const hasOneTurn = (name: FaultName): boolean => FAULTS[name].isFirst === true || FAULTS[name].isOnce === true;
        const counts = countsOf(FAULT_NAMES.filter((name) => !hasOneTurn(name)));
        expect(Math.max(...counts) - Math.min(...counts)).to.be.at.most(1);
        expect(countsOf(FAULT_NAMES.filter((name) => FAULTS[name].isFirst))).to.deep.equal([1]);
        expect(Math.max(...countsOf(FAULT_NAMES.filter((name) => FAULTS[name].isOnce)))).to.be.at.most(1);
      }),
    );
  });

  it('contains only the named kinds', () => {
    const plan = planFaults(createRandom(1), { faults: 30, durationMs: 60_000, kinds: ['api', 'silence'] });
    expect(new Set(plan.map(({ kind }) => kind))).to.deep.equal(new Set(['api', 'silence']));
  });

  it('gives every fault the duration of its kind', () => {
    const plan = planFaults(createRandom(2), { faults: 300, durationMs: 60_000, kinds: FAULT_NAMES });
    for (const { kind, lastsMs } of plan) {
      const { leastMs, mostMs, lengthsMs = [lastsMs] } = FAULTS[kind];
      expect(lastsMs).to.be.within(leastMs, mostMs);
      expect(lengthsMs).to.include(lastsMs);
    }
  });

  it('stays the same for the same seed', () => {
    const settings = { faults: 50, durationMs: 60_000, kinds: FAULT_NAMES };
    expect(planFaults(createRandom(9), settings)).to.deep.equal(planFaults(createRandom(9), settings));
  });
});
