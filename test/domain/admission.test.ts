import { expect } from 'chai';
import { Admission, IMPORTANCES, type Importance } from '../../domain/admission.ts';

/** One request of a window. */
type Arrival = readonly [importance: Importance, customer: string];

const FAST_MS = 1;
/** A wait slightly above the limit. */
const LATE_MS = 63;
const SLOW_MS = 200;

function windowOf(admission: Admission, arrivals: readonly Arrival[], waitMs: number): readonly Arrival[] {
  const taken = arrivals.filter(([importance, customer]) => admission.takes(importance, customer));
  admission.endWindow(waitMs);
  return taken;
}

function times(count: number, importance: Importance, customer: string | ((index: number) => string)): Arrival[] {
  return Array.from({ length: count }, (_, index) => [
    importance,
    typeof customer === 'string' ? customer : customer(index),
  ]);
}

/** Starts an overload with the same requests in each window, and returns which of the next are accepted. */
function takenUnderOverload(arrivals: readonly Arrival[]): readonly Arrival[] {
  const admission = new Admission();
  for (let count = 0; count < 3; count += 1) windowOf(admission, arrivals, SLOW_MS);
  return windowOf(admission, arrivals, FAST_MS);
}

function countOf(arrivals: readonly Arrival[], wanted: string): number {
  return arrivals.filter((arrival) => arrival.includes(wanted)).length;
}

describe('the admission of requests', () => {
  it('refuses nothing while requests do not wait', () => {
    const admission = new Admission();
    for (let count = 0; count < 100; count += 1)
      expect(windowOf(admission, times(5_000, 'free list', 'a'), FAST_MS)).to.have.length(5_000);
    expect(admission.isLimiting).to.equal(false);
  });

  it('refuses nothing of few requests, however long they wait', () => {
    const admission = new Admission();
    for (let count = 0; count < 100; count += 1)
      expect(windowOf(admission, times(30, 'free list', 'a'), SLOW_MS)).to.have.length(30);
  });

  it('refuses nothing of a burst after a quiet second', () => {
    const admission = new Admission();
    for (let count = 0; count < 20; count += 1) windowOf(admission, times(count === 0 ? 500 : 1, 'work', 'a'), SLOW_MS);
    expect(windowOf(admission, times(200, 'free list', 'a'), SLOW_MS)).to.have.length(200);
  });

  for (const [index, importance] of IMPORTANCES.slice(0, -1).entries()) {
    const next = IMPORTANCES[index + 1] ?? importance;
    it(`refuses each ${importance} before a ${next}`, () => {
      const taken = takenUnderOverload([...times(100, importance, 'a'), ...times(100, next, 'b')]);
      expect(countOf(taken, next)).to.equal(100);
      expect(countOf(taken, importance)).to.be.below(100);
    });
  }

  it('refuses the heaviest senders, and nobody who sends little', () => {
    const crowd = times(100, 'work', (index) => `customer ${index}`);
    const taken = takenUnderOverload([...times(900, 'work', 'greedy'), ...crowd]);
    expect(taken.filter(([, customer]) => customer !== 'greedy')).to.have.length(100);
    expect(countOf(taken, 'greedy')).to.be.within(300, 500);
  });

  it('accepts a part of the requests of equal senders', () => {
    const taken = takenUnderOverload(times(1_000, 'work', (index) => `customer ${index}`));
    expect(taken).to.have.length(500);
  });

  for (const [what, waitsMs, lengthMs, taken] of [
    ['everything after a single window in which requests waited very long', [FAST_MS, FAST_MS, SLOW_MS], 100, 1_000],
    ['half after windows in which requests waited very long', [SLOW_MS, SLOW_MS, SLOW_MS], 100, 500],
    [
      'half of what fits into a window, after windows that took twice their time',
      [SLOW_MS, SLOW_MS, SLOW_MS],
      200,
      250,
    ],
    ['a twentieth less while requests still wait too long', [SLOW_MS, SLOW_MS, SLOW_MS, LATE_MS], 100, 475],
  ] as const)
    it(`accepts ${what}`, () => {
      const admission = new Admission();
      const arrivals = times(1_000, 'work', (index) => `customer ${index}`);
      for (const waitMs of waitsMs) {
        for (const [importance, customer] of arrivals) admission.takes(importance, customer);
        admission.endWindow(waitMs, lengthMs);
      }
      expect(windowOf(admission, arrivals, FAST_MS)).to.have.length(taken);
    });

  it('accepts everything again some time after the overload', () => {
    const admission = new Admission();
    for (let count = 0; count < 10; count += 1) windowOf(admission, times(1_000, 'work', 'a'), SLOW_MS);
    expect(admission.isLimiting).to.equal(true);
    for (let count = 0; count < 21; count += 1) windowOf(admission, times(10, 'work', 'a'), FAST_MS);
    expect(admission.isLimiting).to.equal(false);
    expect(windowOf(admission, times(1_000, 'work', 'a'), FAST_MS)).to.have.length(1_000);
  });

  it('keeps the useful throughput of a process at three times its capacity, and the wait short', () => {
    const capacity = 240;
    const costOfRefusal = 0.05;
    const admission = new Admission();
    let backlog = 0;
    const rounds = Array.from({ length: 300 }, () => {
      const arrivals = times(3 * capacity, 'work', 'a');
      const waitMs = (backlog / capacity) * 100;
      const taken = windowOf(admission, arrivals, waitMs).length;
      const left = capacity - costOfRefusal * (arrivals.length - taken);
      const done = Math.min(backlog + taken, left);
      backlog += taken - done;
      return { done, waitMs };
    });
    const later = rounds.slice(100);
    const done = later.reduce((sum, round) => sum + round.done, 0) / later.length;
    expect(done / capacity).to.be.at.least(0.8);
    expect(Math.max(...later.map(({ waitMs }) => waitMs))).to.be.at.most(250);
  });
});
