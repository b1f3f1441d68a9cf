import { expect } from 'chai';
import * as fc from 'fast-check';
import {
  type CallOutcome,
  type Circuit,
  circuitAfter,
  circuitState,
  CLIENTS_IN_A_ROW,
  FAILURES_IN_A_ROW,
  MAX_OPEN_MS,
  MAX_REQUESTED_WAIT_MS,
  newCircuit,
  type Opening,
  type PastCall,
  PROBE_PATIENCE_MS,
  recordCall,
  recordOutcome,
  STARTED_PROBE_PATIENCE_MS,
  UPSTREAM_FAULTS,
  type UpstreamFault,
} from '../../domain/circuit.ts';

const NOW_MS = 1_800_000_000_000;
const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;

const AT_ONCE: readonly UpstreamFault[] = ['key_refused', 'access_refused', 'model_unknown', 'rate_limited'];
const COUNTED: readonly UpstreamFault[] = ['unreachable', 'failed', 'silent'];

interface Call {
  readonly startedAtMs: number;
  hasStarted: boolean;
}

/** A circuit with the calls of a process. By default without randomness: an opening lasts exactly as long as the rules define. */
class Process {
  circuit: Circuit = newCircuit(MINUTE_MS);
  readonly #random: number;

  constructor(random = 0) {
    this.#random = random;
  }

  get opening(): Opening | null {
    return this.circuit.opening;
  }

  state(nowMs: number): string {
    return circuitState(this.circuit, nowMs);
  }

  start(nowMs: number): Call {
    this.circuit = recordCall(this.circuit, nowMs);
    return { startedAtMs: nowMs, hasStarted: false };
  }

  record(call: Call, outcome: CallOutcome, nowMs: number): void {
    call.hasStarted ||= outcome === 'started';
    this.circuit = recordOutcome(this.circuit, call.startedAtMs, outcome, nowMs);
  }

  fail(call: Call, nowMs: number, { fault = 'failed', requestedWaitMs = null, account = null }: Failing = {}): void {
    const failure = { fault, hadStarted: call.hasStarted, requestedWaitMs, account, random: this.#random };
    this.record(call, failure, nowMs);
  }
}

function fail(process: Process, nowMs: number, { times = 1, ...failing }: Failing = {}): void {
  for (let count = 0; count < times; count += 1) process.fail(process.start(nowMs), nowMs, failing);
}

interface Failing {
  readonly fault?: UpstreamFault;
  readonly requestedWaitMs?: number | null;
  readonly account?: string | null;
  readonly times?: number;
}

function succeed(process: Process, nowMs: number): void {
  const call = process.start(nowMs);
  process.record(call, 'started', nowMs);
  process.record(call, 'completed', nowMs);
}

/** Breaks off an answer that had started. */
function breakOff(process: Process, nowMs: number): void {
  const call = process.start(nowMs);
  process.record(call, 'started', nowMs);
  process.fail(call, nowMs);
}

/** Lets each opening pass and fails its probe. @returns the lengths of the openings, in seconds */
function openingsOf(process: Process, fault: UpstreamFault, count: number): number[] {
  let nowMs = NOW_MS;
  fail(process, nowMs, { fault, times: FAILURES_IN_A_ROW });
  return Array.from({ length: count }, () => {
    const openMs = (process.opening?.untilMs ?? 0) - nowMs;
    nowMs += openMs;
    fail(process, nowMs, { fault });
    return openMs / SECOND_MS;
  });
}

describe('the circuit of an upstream', () => {
  for (const fault of COUNTED) {
    it(`opens its circuit after ${FAILURES_IN_A_ROW} in a row of "${fault}"`, () => {
      const process = new Process();
      fail(process, NOW_MS, { fault, times: FAILURES_IN_A_ROW - 1 });
      expect(process.state(NOW_MS)).to.equal('closed');
      fail(process, NOW_MS, { fault });
      expect(process.state(NOW_MS)).to.equal('open');
      expect(process.opening).to.include({ cause: fault, sinceMs: NOW_MS, untilMs: NOW_MS + 10 * SECOND_MS });
    });
  }

  for (const fault of AT_ONCE) {
    it(`opens its circuit at once for "${fault}"`, () => {
      const process = new Process();
      fail(process, NOW_MS, { fault });
      expect([process.state(NOW_MS), process.opening?.cause]).to.deep.equal(['open', fault]);
    });
  }

  it('resets failures in a row when an answer starts', () => {
    const process = new Process();
    fail(process, NOW_MS, { times: FAILURES_IN_A_ROW - 1 });
    process.record(process.start(NOW_MS), 'started', NOW_MS);
    fail(process, NOW_MS, { times: FAILURES_IN_A_ROW - 1 });
    expect(process.state(NOW_MS)).to.equal('closed');
  });

  it('opens its circuit when its answers start and break off, until one is whole', () => {
    const process = new Process();
    for (let count = 0; count < FAILURES_IN_A_ROW; count += 1) breakOff(process, NOW_MS);
    expect(process.state(NOW_MS)).to.equal('open');
    breakOff(process, NOW_MS + 10 * SECOND_MS);
    expect(process.opening?.untilMs).to.equal(NOW_MS + 20 * SECOND_MS);
    succeed(process, NOW_MS + 20 * SECOND_MS);
    breakOff(process, NOW_MS + 20 * SECOND_MS);
    expect(process.state(NOW_MS + 20 * SECOND_MS)).to.equal('closed');
  });

  it('opens its circuit when most of ten answers within a minute fail, though never five in a row', () => {
    const opensWhenFlapping = (apartMs: number): boolean => {
      const process = new Process();
      return Array.from({ length: 5 }, (_, round) => NOW_MS + round * apartMs).some((nowMs) => {
        fail(process, nowMs, { times: 2 });
        const isOpen = process.state(nowMs) === 'open';
        succeed(process, nowMs);
        return isOpen;
      });
    };
    expect([opensWhenFlapping(2 * SECOND_MS), opensWhenFlapping(MINUTE_MS)]).to.deep.equal([true, false]);
  });

  it('opens six times for the first duration, then twice as long each time up to a minute, and starts over after a whole answer', () => {
    const process = new Process();
    expect(openingsOf(process, 'failed', 10)).to.deep.equal([10, 10, 10, 10, 10, 10, 20, 40, 60, 60]);
    expect(openingsOf(new Process(), 'rate_limited', 11)).to.deep.equal([5, 5, 5, 5, 5, 5, 10, 20, 40, 60, 60]);
    const laterMs = NOW_MS + 60 * MINUTE_MS;
    succeed(process, laterMs);
    fail(process, laterMs, { fault: 'key_refused' });
    expect(process.opening?.untilMs).to.equal(laterMs + 10 * SECOND_MS);
  });

  it(`opens its circuit after ${CLIENTS_IN_A_ROW} clients in a row that left before its answers started`, () => {
    const process = new Process();
    const leave = (times: number): void => {
      for (let count = 0; count < times; count += 1) process.record(process.start(NOW_MS), 'abandoned', NOW_MS);
    };
    leave(CLIENTS_IN_A_ROW - 1);
    expect(process.state(NOW_MS)).to.equal('closed');
    process.record(process.start(NOW_MS), 'started', NOW_MS);
    leave(CLIENTS_IN_A_ROW - 1);
    expect(process.state(NOW_MS), 'after an answer started').to.equal('closed');
    leave(1);
    expect(process.state(NOW_MS)).to.equal('open');
    expect(process.opening).to.include({ cause: 'silent', untilMs: NOW_MS + 10 * SECOND_MS });
    leave(20);
    expect(process.opening?.untilMs, 'not longer for more clients').to.equal(NOW_MS + 10 * SECOND_MS);
  });

  it('counts none of the failures during an opening once a probe has succeeded', () => {
    const process = new Process();
    fail(process, NOW_MS, { times: FAILURES_IN_A_ROW });
    const probedMs = NOW_MS + 10 * SECOND_MS;
    const probe = process.start(probedMs);
    // Sent for lack of another route.
    fail(process, probedMs + 1, { times: 20 });
    process.record(probe, 'started', probedMs + 2);
    fail(process, probedMs + 2);
    expect(process.state(probedMs + 2)).to.equal('closed');
  });

  it('shortens an opening by a random amount of up to a fifth', () => {
    const process = new Process(0.999);
    fail(process, NOW_MS, { times: FAILURES_IN_A_ROW });
    expect(process.opening?.untilMs).to.be.within(NOW_MS + 8_000, NOW_MS + 8_100);
  });

  it('keeps its circuit open for the requested time, whatever the failure, up to an hour', () => {
    for (const fault of UPSTREAM_FAULTS) {
      const process = new Process();
      fail(process, NOW_MS, { fault, requestedWaitMs: 7_000 });
      expect(process.opening?.untilMs).to.equal(NOW_MS + 7_000);
      fail(process, NOW_MS, { fault, requestedWaitMs: 1_000 });
      expect(process.opening?.untilMs, 'a shorter wait does not cut it short').to.equal(NOW_MS + 7_000);
      fail(process, NOW_MS, { fault, requestedWaitMs: 10 * MAX_REQUESTED_WAIT_MS });
      expect(process.opening?.untilMs).to.equal(NOW_MS + MAX_REQUESTED_WAIT_MS);
    }
  });

  it('lets one probe through after an opening, and closes when its answer starts', () => {
    const process = new Process();
    fail(process, NOW_MS, { times: FAILURES_IN_A_ROW });
    const overMs = NOW_MS + 10 * SECOND_MS;
    expect(process.state(overMs)).to.equal('half-open');
    const call = process.start(overMs);
    expect(process.state(overMs), 'for others').to.equal('open');
    process.record(call, 'started', overMs);
    expect(process.state(overMs)).to.equal('closed');
  });

  it('lets another request probe when a probe shows nothing, at once or after a while', () => {
    const process = new Process();
    fail(process, NOW_MS, { times: FAILURES_IN_A_ROW });
    const overMs = NOW_MS + 10 * SECOND_MS;
    process.record(process.start(overMs), 'unclear', overMs);
    expect(process.state(overMs)).to.equal('half-open');
    process.start(overMs);
    expect(process.state(overMs + PROBE_PATIENCE_MS - 1)).to.equal('open');
    expect(process.state(overMs + PROBE_PATIENCE_MS)).to.equal('half-open');
  });

  it('opens once for concurrent failures', () => {
    const process = new Process();
    const calls = Array.from({ length: 25 }, () => process.start(NOW_MS));
    for (const call of calls) process.fail(call, NOW_MS);
    expect(process.opening?.untilMs).to.equal(NOW_MS + 10 * SECOND_MS);
  });

  it('counts an answer during an opening only if its request was sent during that opening', () => {
    const process = new Process();
    const before = process.start(NOW_MS - 1);
    fail(process, NOW_MS, { times: FAILURES_IN_A_ROW });
    process.record(before, 'started', NOW_MS);
    process.record(before, 'completed', NOW_MS);
    expect(process.state(NOW_MS)).to.equal('open');
    process.record(process.start(NOW_MS), 'started', NOW_MS);
    expect(process.state(NOW_MS)).to.equal('closed');
  });

  it('counts no call from before a reset', () => {
    const process = new Process();
    const before = process.start(NOW_MS - 1);
    fail(process, NOW_MS - 1, { fault: 'key_refused' });
    process.circuit = newCircuit(MINUTE_MS, NOW_MS);
    process.fail(before, NOW_MS, { fault: 'key_refused' });
    expect(process.state(NOW_MS)).to.equal('closed');
  });

  it('opens for a fault that one account can provoke only once a second account met it, with no answer in between', () => {
    for (const fault of ['access_refused', 'model_unknown'] as const) {
      const process = new Process();
      fail(process, NOW_MS, { fault, account: 'one', times: 9 });
      process.record(process.start(NOW_MS), 'started', NOW_MS);
      fail(process, NOW_MS, { fault, account: 'other' });
      expect(process.state(NOW_MS), fault).to.equal('closed');
      fail(process, NOW_MS, { fault, account: 'one' });
      expect(process.state(NOW_MS), fault).to.equal('open');
    }
  });

  it('waits for a whole answer of the probe if answers started and broke off, though not for ever', () => {
    const process = new Process();
    for (let count = 0; count < FAILURES_IN_A_ROW; count += 1) breakOff(process, NOW_MS);
    const probedMs = NOW_MS + 10 * SECOND_MS;
    const probe = process.start(probedMs);
    process.record(probe, 'started', probedMs);
    expect(process.state(probedMs + PROBE_PATIENCE_MS)).to.equal('open');
    expect(process.state(probedMs + STARTED_PROBE_PATIENCE_MS)).to.equal('half-open');
    process.record(probe, 'completed', probedMs + MINUTE_MS);
    expect(process.state(probedMs + MINUTE_MS)).to.equal('closed');
  });

  describe('computed from past calls', () => {
    const FAULT: CallOutcome = { fault: 'failed', hadStarted: false, requestedWaitMs: null, account: null, random: 0 };
    /** A call that was sent at this second and had its outcomes at once, or a render after `renderSeconds`. */
    const at = (second: number, outcome?: CallOutcome, render?: CallOutcome, renderSeconds = 1): PastCall => ({
      startedAtMs: second * SECOND_MS,
      outcomes: [
        ...(outcome === undefined ? [] : [{ outcome, atMs: second * SECOND_MS }]),
        ...(render === undefined ? [] : [{ outcome: render, atMs: (second + renderSeconds) * SECOND_MS }]),
      ],
    });
    const stateAt = (second: number, calls: readonly PastCall[]): string =>
      circuitState(circuitAfter(calls, newCircuit(15 * MINUTE_MS)), second * SECOND_MS);
    const FIVE_FAULTS = [0, 1, 2, 3, 4].map((second) => at(second, FAULT));

    it('depends on the order of the outcomes, not on the order of the calls', () => {
      expect([13, 14].map((second) => stateAt(second, FIVE_FAULTS.toReversed()))).to.deep.equal(['open', 'half-open']);
      expect(stateAt(6, [...FIVE_FAULTS.slice(0, 4), at(3.5, 'started'), at(5, FAULT)])).to.equal('closed');
    });

    it('is probed by a call without an outcome, unless the call was sent during the opening', () => {
      expect(stateAt(15, [...FIVE_FAULTS, at(14)])).to.equal('open');
      expect(stateAt(75, [...FIVE_FAULTS, at(14)])).to.equal('half-open');
      expect(stateAt(15, [...FIVE_FAULTS, at(13)])).to.equal('half-open');
      expect(stateAt(16, [...FIVE_FAULTS, at(15, 'started')])).to.equal('closed');
    });

    it('opens for accepted jobs that fail, and closes once a render succeeds', () => {
      const broken: CallOutcome = { ...FAULT, hadStarted: true };
      const failing = [0, 1, 2, 3, 4].map((second) => at(second, 'started', broken));
      expect(stateAt(6, failing.slice(1))).to.equal('closed');
      expect(stateAt(6, failing)).to.equal('open');
      expect(
        stateAt(
          6,
          failing.map((call) => ({ ...call, outcomes: call.outcomes.slice(0, 1) })),
        ),
      ).to.equal('closed');
      expect(stateAt(60, [...failing, at(16, 'started')]), 'while the probe renders').to.equal('open');
      expect(stateAt(60, [...failing, at(16, 'started', 'unclear', 9)]), 'a refused prompt').to.equal('half-open');
      expect(stateAt(60, [...failing, at(16, 'started', 'completed', 30)])).to.equal('closed');
      expect(stateAt(60, [...failing, at(16, 'started', broken, 40)])).to.equal('open');
    });

    it('opens when more than half of ten renders fail within the window', () => {
      const renders = (isFailing: (number: number) => boolean, count: number, apart: number) =>
        Array.from({ length: count }, (_, number) =>
          at(number * apart, 'started', isFailing(number) ? { ...FAULT, hadStarted: true } : 'completed'),
        );
      const mostly = (number: number): boolean => number % 3 > 0;
      expect(stateAt(105, renders(mostly, 12, 10))).to.equal('open');
      expect(stateAt(60, renders(mostly, 6, 10)), 'too few').to.equal('closed');
      expect(stateAt(2_880, renders(mostly, 12, 240)), 'too far apart').to.equal('closed');
      expect(
        stateAt(
          400,
          renders((number) => number % 2 > 0, 40, 10),
        ),
        'half of them',
      ).to.equal('closed');
    });
  });

  describe('for any history', () => {
    const OUTCOMES = ['started', 'completed', 'unclear', 'failed'] as const;
    const step = fc.record({
      passesMs: fc.oneof(fc.constant(0), fc.nat(20 * SECOND_MS), fc.nat(3 * MINUTE_MS)),
      starts: fc.nat(3),
      outcome: fc.constantFrom(...OUTCOMES),
      of: fc.nat(),
      fault: fc.constantFrom(...UPSTREAM_FAULTS),
      requestedWaitMs: fc.option(fc.nat(2 * MINUTE_MS), { freq: 4 }),
    });
    type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

    /** Replays a history, and checks the process after each of its steps. */
    function play(
      steps: readonly Step[],
      random: number,
      look: (process: Process, nowMs: number, step: Step) => void = () => {},
    ): { process: Process; nowMs: number } {
      const process = new Process(random);
      const calls: Call[] = [];
      let nowMs = NOW_MS;
      for (const one of steps) {
        nowMs += one.passesMs;
        for (let count = 0; count < one.starts; count += 1) calls.push(process.start(nowMs));
        const [call] = calls.length === 0 ? [] : calls.splice(one.of % calls.length, 1);
        if (call === undefined) continue;
        if (one.outcome === 'failed') process.fail(call, nowMs, one);
        else process.record(call, one.outcome, nowMs);
        look(process, nowMs, one);
      }
      return { process, nowMs };
    }

    const history = fc.array(step, { maxLength: 60 });
    const chance = fc.double({ min: 0, max: 0.999, noNaN: true });

    it('opens only after a failure', () => {
      fc.assert(
        fc.property(history, chance, (steps, random) => {
          const faultless = steps.map((one) => ({
            ...one,
            outcome: one.outcome === 'failed' ? ('unclear' as const) : one.outcome,
          }));
          play(faultless, random, (process, nowMs) => {
            expect(process.state(nowMs)).to.equal('closed');
          });
        }),
      );
    });

    it('ends an opening early only for an answer, and never extends one beyond its limit', () => {
      fc.assert(
        fc.property(history, chance, (steps, random) => {
          let untilMs = 0;
          play(steps, random, (process, nowMs, { outcome, requestedWaitMs }) => {
            const { opening } = process;
            if (outcome === 'started' || outcome === 'completed') untilMs = 0;
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
          play(steps, random, (process, nowMs) => {
            if (process.state(nowMs) !== 'half-open') return;
            const call = process.start(nowMs);
            expect(process.state(nowMs)).to.equal('open');
            process.record(call, 'unclear', nowMs);
            expect(process.state(nowMs)).to.equal('half-open');
          });
        }),
      );
    });

    it('recovers on its own: the probe after an opening closes the circuit and clears its record', () => {
      fc.assert(
        fc.property(history, chance, (steps, random) => {
          const { process, nowMs } = play(steps, random);
          const overMs = Math.max(process.opening?.untilMs ?? nowMs, nowMs) + STARTED_PROBE_PATIENCE_MS;
          expect(process.state(overMs)).to.be.oneOf(['closed', 'half-open']);
          succeed(process, overMs);
          expect(process.state(overMs)).to.equal('closed');
          const laterMs = overMs + 2 * MINUTE_MS;
          fail(process, laterMs, { times: FAILURES_IN_A_ROW - 1 });
          expect(process.state(laterMs)).to.equal('closed');
          fail(process, laterMs);
          expect((process.opening?.untilMs ?? 0) - laterMs).to.be.within(8 * SECOND_MS, 10 * SECOND_MS);
        }),
      );
    });
  });
});
