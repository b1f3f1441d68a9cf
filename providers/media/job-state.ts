/** Builds the states of jobs from what upstreams report. */
import { cutText } from '../../domain/cut-text.ts';
import type { TaskErrorCode } from '../../domain/errors.ts';
import type { VendorCost } from '../../domain/media-route.ts';
import type { JobEnd, JobState } from './adapter.ts';
import { messageFor, cleanVendorMessage } from './words.ts';

type RunningState = Extract<JobState, { state: 'running' }>;

const MAX_WORD_LENGTH = 40;

/** @param status the upstream's word for the state, for operators */
export function running(status: unknown, progress?: unknown): RunningState {
  const isPercent = typeof progress === 'number' && progress >= 0 && progress <= 100;
  return { state: 'running', progressPercent: isPercent ? progress : null, detail: cleanVendorMessage(status) };
}

/**
 * A job without a known final state.
 *
 * @param status the upstream's word for the state
 * @param words the words that mean that the job waits or runs. A job with another word may still end, so it also runs
 */
export function unfinished(status: unknown, words: readonly unknown[], progress?: unknown): RunningState {
  const state = running(status, progress);
  if (words.includes(status)) return state;
  const text = status === undefined || status === null ? null : cleanVendorMessage(JSON.stringify(status));
  return { ...state, unknownWord: cutText(text?.replace(/^"(.*)"$/, '$1') ?? 'none', MAX_WORD_LENGTH) };
}

/** @param words the upstream's words for the client; see {@link messageFor} */
export function failed(
  code: TaskErrorCode,
  words?: unknown,
  facts: { readonly cost?: VendorCost } & JobEnd = {},
): JobState {
  return { state: 'failed', code, message: messageFor(code, words), ...facts };
}
