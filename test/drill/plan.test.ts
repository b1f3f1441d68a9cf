import { expect } from 'chai';
import * as fc from 'fast-check';
import { planKills, ROLES } from '../../drill/plan.ts';
import { createRandom } from '../../drill/random.ts';

const drills = fc.record({
  seed: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
  kills: fc.integer({ min: 1, max: 200 }),
  durationMs: fc.integer({ min: 1_000, max: 600_000 }),
});

describe('the plan of a drill', () => {
  it('has all of its kills, in order and within its time', () => {
    fc.assert(
      fc.property(drills, ({ seed, kills, durationMs }) => {
        const plan = planKills(createRandom(seed), { kills, durationMs, roles: ROLES });
        const moments = plan.map(({ atMs }) => atMs);
        expect(plan).to.have.length(kills);
        expect(moments).to.deep.equal(moments.toSorted((one, other) => one - other));
        expect(moments.at(-1)).to.be.at.most(durationMs);
      }),
    );
  });

  it('gives every role its turn before one has another', () => {
    fc.assert(
      fc.property(drills, ({ seed, kills, durationMs }) => {
        const plan = planKills(createRandom(seed), { kills, durationMs, roles: ROLES });
        const counts = ROLES.map((role) => plan.filter((kill) => kill.role === role).length);
        expect(Math.max(...counts) - Math.min(...counts)).to.be.at.most(1);
      }),
    );
  });

  it('spares those who are not named', () => {
    const plan = planKills(createRandom(1), { kills: 30, durationMs: 60_000, roles: ['api', 'worker'] });
    expect(new Set(plan.map(({ role }) => role))).to.deep.equal(new Set(['api', 'worker']));
  });

  it('is the same for the same seed', () => {
    const settings = { kills: 50, durationMs: 60_000, roles: ROLES };
    expect(planKills(createRandom(9), settings)).to.deep.equal(planKills(createRandom(9), settings));
  });
});
