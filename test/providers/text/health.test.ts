import { expect } from 'chai';
import * as fc from 'fast-check';
import { MAX_OPEN_MS } from '../../../domain/circuit.ts';
import {
  CLIENTS_IN_A_ROW,
  FAILURES_IN_A_ROW,
  Health,
  MAX_REQUESTED_WAIT_MS,
  PROBE_PATIENCE_MS,
  type Call,
} from '../../../providers/text/health.ts';
import { UPSTREAM_FAULTS, type UpstreamFault } from '../../../text/upstream-errors.ts';

const NOW_MS = 1_800_000_000_000;
const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;

const AT_ONCE: readonly UpstreamFault[] = ['key_refused', 'access_refused', 'model_unknown', 'rate_limited'];
const COUNTED: readonly UpstreamFault[] = ['unreachable', 'failed', 'silent'];

/** Without randomness: an opening lasts exactly as long as the rules define. */
function newHealth(): Health {
  return new Health(() => 0);
}

function fail(
  health: Health,
  nowMs: number,
  { fault = 'failed', requestedWaitMs = null, times = 1 }: Failing = {},
): void {
  for (let count = 0; count < times; count += 1) health.failed(health.start(nowMs), fault, nowMs, requestedWaitMs);
}

interface Failing {
  readonly fault?: UpstreamFault;
  readonly requestedWaitMs?: number | null;
  readonly times?: number;
}

function succeed(health: Health, nowMs: number): void {
  const call = health.start(nowMs);
  health.recordStart(call);
  health.ended(call, nowMs);
}

/** Breaks off an answer that had started. */
function breakOff(health: Health, nowMs: number): void {
  const call = health.start(nowMs);
  health.recordStart(call);
  health.failed(call, 'failed', nowMs, null);
}

/** Lets each opening pass and fails its probe. @returns the lengths of the openings, in seconds */
function openingsOf(health: Health, fault: UpstreamFault, count: number): number[] {
  let nowMs = NOW_MS;
  fail(health, nowMs, { fault, times: FAILURES_IN_A_ROW });
  return Array.from({ length: count }, () => {
    const openMs = (health.opening?.untilMs ?? 0) - nowMs;
    nowMs += openMs;
    fail(health, nowMs, { fault });
    return openMs / SECOND_MS;
  });
}

describe('the health of a part of an upstream', () => {
  for (const fault of COUNTED) {
    it(`opens its circuit after ${FAILURES_IN_A_ROW} in a row of "${fault}"`, () => {
      const health = newHealth();
      fail(health, NOW_MS, { fault, times: FAILURES_IN_A_ROW - 1 });
      expect(health.state(NOW_MS)).to.equal('closed');
      fail(health, NOW_MS, { fault });
      expect(health.state(NOW_MS)).to.equal('open');
      expect(health.opening).to.include({ cause: fault, sinceMs: NOW_MS, untilMs: NOW_MS + 10 * SECOND_MS });
    });
  }

  for (const fault of AT_ONCE) {
    it(`opens its circuit at once for "${fault}"`, () => {
      const health = newHealth();
      fail(health, NOW_MS, { fault });
      expect([health.state(NOW_MS), health.opening?.cause]).to.deep.equal(['open', fault]);
    });
  }

  it('resets failures in a row when an answer starts', () => {
    const health = newHealth();
    fail(health, NOW_MS, { times: FAILURES_IN_A_ROW - 1 });
    health.recordStart(health.start(NOW_MS));
    fail(health, NOW_MS, { times: FAILURES_IN_A_ROW - 1 });
    expect(health.state(NOW_MS)).to.equal('closed');
  });

  it('opens its circuit when its answers start and break off, until one is whole', () => {
    const health = newHealth();
    for (let count = 0; count < FAILURES_IN_A_ROW; count += 1) breakOff(health, NOW_MS);
    expect(health.state(NOW_MS)).to.equal('open');
    breakOff(health, NOW_MS + 10 * SECOND_MS);
    expect(health.opening?.untilMs).to.equal(NOW_MS + 20 * SECOND_MS);
    succeed(health, NOW_MS + 20 * SECOND_MS);
    breakOff(health, NOW_MS + 20 * SECOND_MS);
    expect(health.state(NOW_MS + 20 * SECOND_MS)).to.equal('closed');
  });

  it('opens its circuit when most of ten answers within a minute fail, though never five in a row', () => {
    const opensWhenFlapping = (apartMs: number): boolean => {
      const health = newHealth();
      return Array.from({ length: 5 }, (_, round) => NOW_MS + round * apartMs).some((nowMs) => {
        fail(health, nowMs, { times: 2 });
        const isOpen = health.state(nowMs) === 'open';
        succeed(health, nowMs);
        return isOpen;
      });
    };
    expect([opensWhenFlapping(2 * SECOND_MS), opensWhenFlapping(MINUTE_MS)]).to.deep.equal([true, false]);
  });

  it('opens six times for the first duration, then twice as long each time up to a minute, and starts over after a whole answer', () => {
    const health = newHealth();
    expect(openingsOf(health, 'failed', 10)).to.deep.equal([10, 10, 10, 10, 10, 10, 20, 40, 60, 60]);
    expect(openingsOf(newHealth(), 'rate_limited', 11)).to.deep.equal([5, 5, 5, 5, 5, 5, 10, 20, 40, 60, 60]);
    const laterMs = NOW_MS + 60 * MINUTE_MS;
    succeed(health, laterMs);
    fail(health, laterMs, { fault: 'key_refused' });
    expect(health.opening?.untilMs).to.equal(laterMs + 10 * SECOND_MS);
  });

  it(`opens its circuit after ${CLIENTS_IN_A_ROW} clients in a row that left before its answers started`, () => {
    const health = newHealth();
    const leave = (times: number): void => {
      for (let count = 0; count < times; count += 1) health.abandoned(health.start(NOW_MS), NOW_MS);
    };
    leave(CLIENTS_IN_A_ROW - 1);
    expect(health.state(NOW_MS)).to.equal('closed');
    health.recordStart(health.start(NOW_MS));
    leave(CLIENTS_IN_A_ROW - 1);
    expect(health.state(NOW_MS), 'after an answer started').to.equal('closed');
    leave(1);
    expect(health.state(NOW_MS)).to.equal('open');
    expect(health.opening).to.include({ cause: 'silent', untilMs: NOW_MS + 10 * SECOND_MS });
    leave(20);
    expect(health.opening?.untilMs, 'not longer for more clients').to.equal(NOW_MS + 10 * SECOND_MS);
  });

  it('counts none of the failures during an opening once a probe has succeeded', () => {
    const health = newHealth();
    fail(health, NOW_MS, { times: FAILURES_IN_A_ROW });
    const probedMs = NOW_MS + 10 * SECOND_MS;
    const probe = health.start(probedMs);
    // Sent for lack of another route.
    fail(health, probedMs, { times: 20 });
    health.recordStart(probe);
    fail(health, probedMs);
    expect(health.state(probedMs)).to.equal('closed');
  });

  it('shortens an opening by a random amount of up to a fifth', () => {
    const health = new Health(() => 0.999);
    fail(health, NOW_MS, { times: FAILURES_IN_A_ROW });
    expect(health.opening?.untilMs).to.be.within(NOW_MS + 8_000, NOW_MS + 8_100);
  });

  it('keeps its circuit open for the requested time, whatever the failure, up to an hour', () => {
    for (const fault of UPSTREAM_FAULTS) {
      const health = newHealth();
      fail(health, NOW_MS, { fault, requestedWaitMs: 7_000 });
      expect(health.opening?.untilMs).to.equal(NOW_MS + 7_000);
      fail(health, NOW_MS, { fault, requestedWaitMs: 1_000 });
      expect(health.opening?.untilMs, 'a shorter wait does not cut it short').to.equal(NOW_MS + 7_000);
      fail(health, NOW_MS, { fault, requestedWaitMs: 10 * MAX_REQUESTED_WAIT_MS });
      expect(health.opening?.untilMs).to.equal(NOW_MS + MAX_REQUESTED_WAIT_MS);
    }
  });

  it('lets one probe through after an opening, and closes when its answer starts', () => {
    const health = newHealth();
    fail(health, NOW_MS, { times: FAILURES_IN_A_ROW });
    const overMs = NOW_MS + 10 * SECOND_MS;
    expect(health.state(overMs)).to.equal('half-open');
    const call = health.start(overMs);
    expect(health.state(overMs), 'for others').to.equal('open');
    health.recordStart(call);
    expect(health.state(overMs)).to.equal('closed');
  });

  it('lets another request probe when a probe shows nothing, at once or after a while', () => {
    const health = newHealth();
    fail(health, NOW_MS, { times: FAILURES_IN_A_ROW });
    const overMs = NOW_MS + 10 * SECOND_MS;
    health.released(health.start(overMs));
    expect(health.state(overMs)).to.equal('half-open');
    health.start(overMs);
    expect(health.state(overMs + PROBE_PATIENCE_MS - 1)).to.equal('open');
    expect(health.state(overMs + PROBE_PATIENCE_MS)).to.equal('half-open');
  });

  it('opens once for concurrent failures', () => {
    const health = newHealth();
    const calls = Array.from({ length: 25 }, () => health.start(NOW_MS));
    for (const call of calls) health.failed(call, 'failed', NOW_MS, null);
    expect(health.opening?.untilMs).to.equal(NOW_MS + 10 * SECOND_MS);
  });

  it('counts an answer during an opening only if its request was sent during that opening', () => {
    const health = newHealth();
    const before = health.start(NOW_MS);
    fail(health, NOW_MS, { times: FAILURES_IN_A_ROW });
    health.recordStart(before);
    health.ended(before, NOW_MS);
    expect(health.state(NOW_MS)).to.equal('open');
    health.recordStart(health.start(NOW_MS));
    expect(health.state(NOW_MS)).to.equal('closed');
  });

  it('an operator resets the health of a part', () => {
    const health = newHealth();
    const before = health.start(NOW_MS);
    fail(health, NOW_MS, { fault: 'key_refused' });
    health.reset();
    health.failed(before, 'key_refused', NOW_MS, null);
    expect(health.state(NOW_MS)).to.equal('closed');
  });

  describe('for any history', () => {
    const OUTCOMES = ['recordStart', 'ended', 'released', 'failed'] as const;
    const step = fc.record({
      passesMs: fc.oneof(fc.constant(0), fc.nat(20 * SECOND_MS), fc.nat(3 * MINUTE_MS)),
      starts: fc.nat(3),
      outcome: fc.constantFrom(...OUTCOMES),
      of: fc.nat(),
      fault: fc.constantFrom(...UPSTREAM_FAULTS),
      requestedWaitMs: fc.option(fc.nat(2 * MINUTE_MS), { freq: 4 }),
    });
    type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

    /** Replays a history, and checks the health after each of its steps. */
    function play(
      steps: readonly Step[],
      random: number,
      look: (health: Health, nowMs: number, step: Step) => void = () => {},
    ): { health: Health; nowMs: number } {
      const health = new Health(() => random);
      const calls: Call[] = [];
      let nowMs = NOW_MS;
      for (const one of steps) {
        nowMs += one.passesMs;
        for (let count = 0; count < one.starts; count += 1) calls.push(health.start(nowMs));
        const [call] = calls.length === 0 ? [] : calls.splice(one.of % calls.length, 1);
        if (call === undefined) continue;
        if (one.outcome === 'failed') health.failed(call, one.fault, nowMs, one.requestedWaitMs);
        else if (one.outcome === 'ended') health.ended(call, nowMs);
        else health[one.outcome](call);
        look(health, nowMs, one);
      }
      return { health, nowMs };
    }

    const history = fc.array(step, { maxLength: 60 });
    const chance = fc.double({ min: 0, max: 0.999, noNaN: true });

    it('opens only after a failure', () => {
      fc.assert(
        fc.property(history, chance, (steps, random) => {
          const faultless = steps.map((one) => ({
            ...one,
            outcome: one.outcome === 'failed' ? 'released' : one.outcome,
          }));
          play(faultless, random, (health, nowMs) => {
            expect(health.state(nowMs)).to.equal('closed');
          });
        }),
      );
    });

    it('ends an opening early only for an answer, and never extends one beyond its limit', () => {
      fc.assert(
        fc.property(history, chance, (steps, random) => {
          let untilMs = 0;
          play(steps, random, (health, nowMs, { outcome, requestedWaitMs }) => {
            const { opening } = health;
            if (outcome === 'recordStart' || outcome === 'ended') untilMs = 0;
            const openUntilMs = opening?.untilMs ?? 0;
            expect(openUntilMs).to.be.at.least(untilMs);
            // An answer to a request from before the opening changes nothing.
            if (outcome === 'failed' && openUntilMs > untilMs) {
              expect(openUntilMs - nowMs).to.be.at.most(Math.max(MAX_OPEN_MS, requestedWaitMs ?? 0));
            }
            untilMs = openUntilMs;
          });
        }),
      );
    });

    it('has one probe at a time', () => {
      fc.assert(
        fc.property(history, chance, (steps, random) => {
          play(steps, random, (health, nowMs) => {
            if (health.state(nowMs) !== 'half-open') return;
            const call = health.start(nowMs);
            expect(health.state(nowMs)).to.equal('open');
            health.released(call);
            expect(health.state(nowMs)).to.equal('half-open');
          });
        }),
      );
    });

    it('recovers on its own: the probe after an opening closes the circuit and resets the health', () => {
      fc.assert(
        fc.property(history, chance, (steps, random) => {
          const { health, nowMs } = play(steps, random);
          const overMs = Math.max(health.opening?.untilMs ?? nowMs, nowMs) + PROBE_PATIENCE_MS;
          expect(health.state(overMs)).to.be.oneOf(['closed', 'half-open']);
          succeed(health, overMs);
          expect(health.state(overMs)).to.equal('closed');
          const laterMs = overMs + 2 * MINUTE_MS;
          fail(health, laterMs, { times: FAILURES_IN_A_ROW - 1 });
          expect(health.state(laterMs)).to.equal('closed');
          fail(health, laterMs);
          expect((health.opening?.untilMs ?? 0) - laterMs).to.be.within(8 * SECOND_MS, 10 * SECOND_MS);
        }),
      );
    });
  });
});
