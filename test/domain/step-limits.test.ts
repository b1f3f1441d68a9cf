import { expect } from 'chai';
import {
  DISPATCH_LIMIT_MS,
  DOWNLOAD_SILENCE_MS,
  HAND_OVER_LIMIT_MS,
  HEARTBEAT_MS,
  HEARTBEAT_TIMEOUT_MS,
  PROVIDER_ANSWER_MS,
  RENDER_LIMIT_MS,
  STORE_LIMIT_MS,
  STORE_SILENCE_MS,
  STORE_SURELY_OVER_MS,
} from '../../domain/step-limits.ts';

describe('the time limits of a task and its steps', () => {
  it('leave providers that take no job several tries, and what must be found out all the time that it may take', () => {
    expect(DISPATCH_LIMIT_MS).to.be.greaterThan(4 * PROVIDER_ANSWER_MS);
    expect(HAND_OVER_LIMIT_MS).to.be.greaterThan(DISPATCH_LIMIT_MS + RENDER_LIMIT_MS);
  });

  it('let a worker miss a heartbeat, and not be taken for dead', () => {
    expect(HEARTBEAT_TIMEOUT_MS).to.be.greaterThan(2 * HEARTBEAT_MS);
  });

  it('end a stalled download or write before the step that waits for it', () => {
    expect(STORE_LIMIT_MS).to.be.greaterThan(2 * (DOWNLOAD_SILENCE_MS + STORE_SILENCE_MS));
  });

  it('take no file for forgotten that a step may still be writing', () => {
    expect(STORE_SURELY_OVER_MS).to.be.greaterThan(2 * STORE_LIMIT_MS);
  });
});
