import { expect } from 'chai';
import * as fc from 'fast-check';
import {
  addCalls,
  countCall,
  DURATION_BOUNDS_MS,
  durationAtMs,
  newCallSum,
  NO_CALLS,
} from '../../domain/upstream-calls.ts';

const oneCall = (durationMs: number, isFailure: boolean) => {
  const sum = newCallSum();
  countCall(sum, durationMs, isFailure);
  return sum;
};
const sumOf = (durationsMs: readonly number[]) =>
  durationsMs.map((durationMs) => oneCall(durationMs, false)).reduce(addCalls, newCallSum());

describe('domain/call-sum', () => {
  it('counts requests and failures', () => {
    const sum = [oneCall(3, false), oneCall(7, true), oneCall(999_999, true)].reduce(addCalls, newCallSum());
    expect(sum).to.include({ requests: 3, failures: 2 });
  });

  it('has no duration without calls', () => {
    expect(durationAtMs(NO_CALLS, 0.5)).to.equal(null);
  });

  it('estimates a duration within the class of the real one', () => {
    const duration = fc.integer({ min: 0, max: 300_000 });
    fc.assert(
      fc.property(fc.array(duration, { minLength: 1 }), fc.constantFrom(0.5, 0.95, 1), (durationsMs, share) => {
        const real = durationsMs.toSorted((a, b) => a - b)[Math.ceil(share * durationsMs.length) - 1] ?? 0;
        const bound = DURATION_BOUNDS_MS.findIndex((one) => real <= one);
        expect(durationAtMs(sumOf(durationsMs), share)).to.be.within(
          DURATION_BOUNDS_MS[bound - 1] ?? 0,
          DURATION_BOUNDS_MS[bound] ?? 0,
        );
      }),
    );
  });

  it('shows the highest bound for calls that took longer than all bounds', () => {
    expect(durationAtMs(sumOf([900_000]), 0.95)).to.equal(DURATION_BOUNDS_MS.at(-1));
  });
});
