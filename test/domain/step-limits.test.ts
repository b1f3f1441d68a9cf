import { expect } from 'chai';
import {
  DISPATCH_LIMIT_MS,
  DOWNLOAD_SILENCE_MS,
  HEARTBEAT_MS,
  HEARTBEAT_TIMEOUT_MS,
  PROVIDER_ANSWER_MS,
  RECHECK,
  STORE_LIMIT_MS,
  STORE_SILENCE_MS,
  STORE_SURELY_OVER_MS,
  SUBMISSION_SURELY_SENT_MS,
} from '../../domain/step-limits.ts';

describe('the time limits of a task and its steps', () => {
  it('leave time for several attempts at providers that accept no job', () => {
    expect(DISPATCH_LIMIT_MS).to.be.greaterThan(4 * PROVIDER_ANSWER_MS);
  });

  it('leave time to query a late task until its submission has surely arrived', () => {
    expect(RECHECK.attempts * RECHECK.pauseMs).to.be.greaterThan(SUBMISSION_SURELY_SENT_MS);
  });

  it('tolerate one missed heartbeat of a worker', () => {
    expect(HEARTBEAT_TIMEOUT_MS).to.be.greaterThan(2 * HEARTBEAT_MS);
  });

  it('end a stalled download or write before the step that waits for it', () => {
    expect(STORE_LIMIT_MS).to.be.greaterThan(2 * (DOWNLOAD_SILENCE_MS + STORE_SILENCE_MS));
  });

  it('protect files that a step may still be writing', () => {
    expect(STORE_SURELY_OVER_MS).to.be.greaterThan(2 * STORE_LIMIT_MS);
  });
});
