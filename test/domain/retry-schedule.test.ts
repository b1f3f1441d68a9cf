import { expect } from 'chai';
import * as fc from 'fast-check';
import { delayBeforeAttemptMs, parseRetryAfter } from '../../domain/retry-schedule.ts';

const SCHEDULE = [0, 5, 300];
const NOW_MS = Date.UTC(1994, 10, 6, 8, 49, 37);

describe('domain/retry-schedule', () => {
  it('waits for the time of the schedule before each attempt', () => {
    // contract 6:16
    const delays = [1, 2, 3].map((attempt) => delayBeforeAttemptMs(attempt, { scheduleSeconds: SCHEDULE, random: 0 }));
    expect(delays).to.eql([0, 5000, 300_000]);
  });

  it('has no attempt beyond the schedule', () => {
    for (const attempt of [-1, 0, 4, 1.5]) {
      expect(delayBeforeAttemptMs(attempt, { scheduleSeconds: SCHEDULE, random: 0.5 }), String(attempt)).to.equal(null);
    }
  });

  it('adds at most a fifth at random, and never shortens', () => {
    // contract 6:16
    const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    fc.assert(
      fc.property(fc.nat(100_000), chance, (seconds, random) => {
        const delayMs = delayBeforeAttemptMs(1, { scheduleSeconds: [seconds], random });
        return delayMs !== null && delayMs >= seconds * 1000 && delayMs <= seconds * 1200;
      }),
    );
  });

  it('waits longer, never shorter, when the receiver requests it', () => {
    // contract 6:17
    const options = { scheduleSeconds: SCHEDULE, random: 0 };
    expect(delayBeforeAttemptMs(2, { ...options, retryAfterSeconds: 60 })).to.equal(60_000);
    expect(delayBeforeAttemptMs(3, { ...options, retryAfterSeconds: 60 })).to.equal(300_000);
  });

  it('reads Retry-After in seconds and in every form of an HTTP date', () => {
    expect(parseRetryAfter('120', NOW_MS, 3600)).to.equal(120);
    expect(parseRetryAfter(' 0 ', NOW_MS, 3600)).to.equal(0);
    expect(parseRetryAfter('Sun, 06 Nov 1994 08:50:37 GMT', NOW_MS, 3600)).to.equal(60);
    expect(parseRetryAfter('Sunday, 06-Nov-94 08:50:37 GMT', NOW_MS, 3600)).to.equal(60);
    expect(parseRetryAfter('Sun Nov  6 08:50:37 1994', NOW_MS, 3600)).to.equal(60);
  });

  it('treats a date in the past as now, and caps a wait that is too long', () => {
    // contract 6:17
    expect(parseRetryAfter('Sun, 06 Nov 1994 08:00:00 GMT', NOW_MS, 3600)).to.equal(0);
    expect(parseRetryAfter('Fri, 31 Dec 9999 23:59:59 GMT', NOW_MS, 3600)).to.equal(3600);
    expect(parseRetryAfter('9'.repeat(400), NOW_MS, 3600)).to.equal(3600);
  });

  it('ignores an invalid Retry-After', () => {
    for (const header of [undefined, '', 'soon', 'Soon enough', '-5', '1.5', '1e3', '0x10', '2026-01-01T00:00:00Z']) {
      expect(parseRetryAfter(header, NOW_MS, 3600), String(header)).to.equal(undefined);
    }
  });
});
