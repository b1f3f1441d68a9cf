import { expect } from 'chai';
import * as fc from 'fast-check';
import { MAX_OPEN_MS } from '../../../domain/circuit.ts';
import {
  FAILURES_IN_A_ROW,
  Health,
  LONGEST_ASKED_REST_MS,
  TRIAL_PATIENCE_MS,
  type Trial,
} from '../../../providers/text/health.ts';
import { UPSTREAM_FAULTS, type UpstreamFault } from '../../../text/upstream-errors.ts';

const NOW_MS = 1_800_000_000_000;
const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;

const AT_ONCE: readonly UpstreamFault[] = ['key_refused', 'access_refused', 'model_unknown', 'rate_limited'];
const COUNTED: readonly UpstreamFault[] = ['unreachable', 'failed', 'silent'];

/** Rests exactly as long as its rules say. */
function newHealth(): Health {
  return new Health(() => 0);
}

function fail(health: Health, nowMs: number, { fault = 'failed', askedRestMs = null, times = 1 }: Failing = {}): void {
  for (let count = 0; count < times; count += 1) health.failed(health.start(nowMs), fault, nowMs, askedRestMs);
}

interface Failing {
  readonly fault?: UpstreamFault;
  readonly askedRestMs?: number | null;
  readonly times?: number;
}

function succeed(health: Health, nowMs: number): void {
  const trial = health.start(nowMs);
  health.begun(trial);
  health.ended(trial, nowMs);
}

/** Breaks an answer off that had begun. */
function breakOff(health: Health, nowMs: number): void {
  const trial = health.start(nowMs);
  health.begun(trial);
  health.failed(trial, 'failed', nowMs, null);
}

/** Lets each rest pass and fails its trial. @returns how long the rests were, in seconds */
function restsOf(health: Health, fault: UpstreamFault, count: number): number[] {
  let nowMs = NOW_MS;
  fail(health, nowMs, { fault, times: FAILURES_IN_A_ROW });
  return Array.from({ length: count }, () => {
    const restMs = (health.rest?.untilMs ?? 0) - nowMs;
    nowMs += restMs;
    fail(health, nowMs, { fault });
    return restMs / SECOND_MS;
  });
}

describe('the health of a part of an upstream', () => {
  for (const fault of COUNTED) {
    it(`lets it rest after ${FAILURES_IN_A_ROW} in a row of "${fault}"`, () => {
      const health = newHealth();
      fail(health, NOW_MS, { fault, times: FAILURES_IN_A_ROW - 1 });
      expect(health.standing(NOW_MS)).to.equal('ready');
      fail(health, NOW_MS, { fault });
      expect(health.standing(NOW_MS)).to.equal('resting');
      expect(health.rest).to.include({ cause: fault, sinceMs: NOW_MS, untilMs: NOW_MS + 10 * SECOND_MS });
    });
  }

  for (const fault of AT_ONCE) {
    it(`lets it rest at once for "${fault}"`, () => {
      const health = newHealth();
      fail(health, NOW_MS, { fault });
      expect([health.standing(NOW_MS), health.rest?.cause]).to.deep.equal(['resting', fault]);
    });
  }

  it('forgets failures in a row with an answer that begins', () => {
    const health = newHealth();
    fail(health, NOW_MS, { times: FAILURES_IN_A_ROW - 1 });
    health.begun(health.start(NOW_MS));
    fail(health, NOW_MS, { times: FAILURES_IN_A_ROW - 1 });
    expect(health.standing(NOW_MS)).to.equal('ready');
  });

  it('lets it rest when its answers begin and break off, until one is whole', () => {
    const health = newHealth();
    for (let count = 0; count < FAILURES_IN_A_ROW; count += 1) breakOff(health, NOW_MS);
    expect(health.standing(NOW_MS)).to.equal('resting');
    breakOff(health, NOW_MS + 10 * SECOND_MS);
    expect(health.rest?.untilMs).to.equal(NOW_MS + 20 * SECOND_MS);
    succeed(health, NOW_MS + 20 * SECOND_MS);
    breakOff(health, NOW_MS + 20 * SECOND_MS);
    expect(health.standing(NOW_MS + 20 * SECOND_MS)).to.equal('ready');
  });

  it('lets it rest when most of ten answers within a minute fail, though never five in a row', () => {
    const restsWhenFlapping = (apartMs: number): boolean => {
      const health = newHealth();
      return Array.from({ length: 5 }, (_, round) => NOW_MS + round * apartMs).some((nowMs) => {
        fail(health, nowMs, { times: 2 });
        const rests = health.standing(nowMs) === 'resting';
        succeed(health, nowMs);
        return rests;
      });
    };
    expect([restsWhenFlapping(2 * SECOND_MS), restsWhenFlapping(MINUTE_MS)]).to.deep.equal([true, false]);
  });

  it('stays open as long as at first six times in a row, then twice as long each time up to a minute, and starts over after a whole answer', () => {
    const health = newHealth();
    expect(restsOf(health, 'failed', 10)).to.deep.equal([10, 10, 10, 10, 10, 10, 20, 40, 60, 60]);
    expect(restsOf(newHealth(), 'rate_limited', 11)).to.deep.equal([5, 5, 5, 5, 5, 5, 10, 20, 40, 60, 60]);
    const laterMs = NOW_MS + 60 * MINUTE_MS;
    succeed(health, laterMs);
    fail(health, laterMs, { fault: 'key_refused' });
    expect(health.rest?.untilMs).to.equal(laterMs + 10 * SECOND_MS);
  });

  it('counts none of the failures during an opening once a probe has succeeded', () => {
    const health = newHealth();
    fail(health, NOW_MS, { times: FAILURES_IN_A_ROW });
    const probedMs = NOW_MS + 10 * SECOND_MS;
    const probe = health.start(probedMs);
    // Sent for lack of another route.
    fail(health, probedMs, { times: 20 });
    health.begun(probe);
    fail(health, probedMs);
    expect(health.standing(probedMs)).to.equal('ready');
  });

  it('cuts up to a fifth off a rest by chance', () => {
    const health = new Health(() => 0.999);
    fail(health, NOW_MS, { times: FAILURES_IN_A_ROW });
    expect(health.rest?.untilMs).to.be.within(NOW_MS + 8_000, NOW_MS + 8_100);
  });

  it('leaves it alone for as long as it asked, whatever it failed with, up to an hour', () => {
    for (const fault of UPSTREAM_FAULTS) {
      const health = newHealth();
      fail(health, NOW_MS, { fault, askedRestMs: 7_000 });
      expect(health.rest?.untilMs).to.equal(NOW_MS + 7_000);
      fail(health, NOW_MS, { fault, askedRestMs: 1_000 });
      expect(health.rest?.untilMs, 'a shorter wait does not cut it short').to.equal(NOW_MS + 7_000);
      fail(health, NOW_MS, { fault, askedRestMs: 10 * LONGEST_ASKED_REST_MS });
      expect(health.rest?.untilMs).to.equal(NOW_MS + LONGEST_ASKED_REST_MS);
    }
  });

  it('ends a rest with one trial, and comes back when its answer begins', () => {
    const health = newHealth();
    fail(health, NOW_MS, { times: FAILURES_IN_A_ROW });
    const overMs = NOW_MS + 10 * SECOND_MS;
    expect(health.standing(overMs)).to.equal('due');
    const trial = health.start(overMs);
    expect(health.standing(overMs), 'for others').to.equal('resting');
    health.begun(trial);
    expect(health.standing(overMs)).to.equal('ready');
  });

  it('lets another try when a trial says nothing, at once or in a while', () => {
    const health = newHealth();
    fail(health, NOW_MS, { times: FAILURES_IN_A_ROW });
    const overMs = NOW_MS + 10 * SECOND_MS;
    health.released(health.start(overMs));
    expect(health.standing(overMs)).to.equal('due');
    health.start(overMs);
    expect(health.standing(overMs + TRIAL_PATIENCE_MS - 1)).to.equal('resting');
    expect(health.standing(overMs + TRIAL_PATIENCE_MS)).to.equal('due');
  });

  it('rests once for all that fails together', () => {
    const health = newHealth();
    const trials = Array.from({ length: 25 }, () => health.start(NOW_MS));
    for (const trial of trials) health.failed(trial, 'failed', NOW_MS, null);
    expect(health.rest?.untilMs).to.equal(NOW_MS + 10 * SECOND_MS);
  });

  it('believes an answer during a rest only when it was asked for during that rest', () => {
    const health = newHealth();
    const before = health.start(NOW_MS);
    fail(health, NOW_MS, { times: FAILURES_IN_A_ROW });
    health.begun(before);
    health.ended(before, NOW_MS);
    expect(health.standing(NOW_MS)).to.equal('resting');
    health.begun(health.start(NOW_MS));
    expect(health.standing(NOW_MS)).to.equal('ready');
  });

  it('is reset by an operator', () => {
    const health = newHealth();
    const before = health.start(NOW_MS);
    fail(health, NOW_MS, { fault: 'key_refused' });
    health.reset();
    health.failed(before, 'key_refused', NOW_MS, null);
    expect(health.standing(NOW_MS)).to.equal('ready');
  });

  describe('whatever happens', () => {
    const OUTCOMES = ['begun', 'ended', 'released', 'failed'] as const;
    const step = fc.record({
      passesMs: fc.oneof(fc.constant(0), fc.nat(20 * SECOND_MS), fc.nat(3 * MINUTE_MS)),
      starts: fc.nat(3),
      outcome: fc.constantFrom(...OUTCOMES),
      of: fc.nat(),
      fault: fc.constantFrom(...UPSTREAM_FAULTS),
      askedRestMs: fc.option(fc.nat(2 * MINUTE_MS), { freq: 4 }),
    });
    type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

    /** Plays a history, and looks at the health after each of its steps. */
    function play(
      steps: readonly Step[],
      random: number,
      look: (health: Health, nowMs: number, step: Step) => void = () => {},
    ): { health: Health; nowMs: number } {
      const health = new Health(() => random);
      const trials: Trial[] = [];
      let nowMs = NOW_MS;
      for (const one of steps) {
        nowMs += one.passesMs;
        for (let count = 0; count < one.starts; count += 1) trials.push(health.start(nowMs));
        const [trial] = trials.length === 0 ? [] : trials.splice(one.of % trials.length, 1);
        if (trial === undefined) continue;
        if (one.outcome === 'failed') health.failed(trial, one.fault, nowMs, one.askedRestMs);
        else if (one.outcome === 'ended') health.ended(trial, nowMs);
        else health[one.outcome](trial);
        look(health, nowMs, one);
      }
      return { health, nowMs };
    }

    const history = fc.array(step, { maxLength: 60 });
    const chance = fc.double({ min: 0, max: 0.999, noNaN: true });

    it('rests only after a failure', () => {
      fc.assert(
        fc.property(history, chance, (steps, random) => {
          const faultless = steps.map((one) => ({
            ...one,
            outcome: one.outcome === 'failed' ? 'released' : one.outcome,
          }));
          play(faultless, random, (health, nowMs) => {
            expect(health.standing(nowMs)).to.equal('ready');
          });
        }),
      );
    });

    it('ends a rest early only for an answer, and never extends one beyond its limit', () => {
      fc.assert(
        fc.property(history, chance, (steps, random) => {
          let untilMs = 0;
          play(steps, random, (health, nowMs, { outcome, askedRestMs }) => {
            const { rest } = health;
            if (outcome === 'begun' || outcome === 'ended') untilMs = 0;
            const restedMs = rest?.untilMs ?? 0;
            expect(restedMs).to.be.at.least(untilMs);
            // An answer to a request from before the opening changes nothing.
            if (outcome === 'failed' && restedMs > untilMs) {
              expect(restedMs - nowMs).to.be.at.most(Math.max(MAX_OPEN_MS, askedRestMs ?? 0));
            }
            untilMs = restedMs;
          });
        }),
      );
    });

    it('has one trial at a time', () => {
      fc.assert(
        fc.property(history, chance, (steps, random) => {
          play(steps, random, (health, nowMs) => {
            if (health.standing(nowMs) !== 'due') return;
            const trial = health.start(nowMs);
            expect(health.standing(nowMs)).to.equal('resting');
            health.released(trial);
            expect(health.standing(nowMs)).to.equal('due');
          });
        }),
      );
    });

    it('recovers on its own: the trial after a rest ends it and resets the health', () => {
      fc.assert(
        fc.property(history, chance, (steps, random) => {
          const { health, nowMs } = play(steps, random);
          const overMs = Math.max(health.rest?.untilMs ?? nowMs, nowMs) + TRIAL_PATIENCE_MS;
          expect(health.standing(overMs)).to.be.oneOf(['ready', 'due']);
          succeed(health, overMs);
          expect(health.standing(overMs)).to.equal('ready');
          const laterMs = overMs + 2 * MINUTE_MS;
          fail(health, laterMs, { times: FAILURES_IN_A_ROW - 1 });
          expect(health.standing(laterMs)).to.equal('ready');
          fail(health, laterMs);
          expect((health.rest?.untilMs ?? 0) - laterMs).to.be.within(8 * SECOND_MS, 10 * SECOND_MS);
        }),
      );
    });
  });
});
