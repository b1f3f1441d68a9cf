/** Builds the states of jobs from what upstreams report. */
import { cutText } from '../../domain/cut-text.ts';
import type { TaskErrorCode } from '../../domain/errors.ts';
import type { VendorCost } from '../../domain/media-route.ts';
import type { JobEnd, JobState } from './adapter.ts';
import { cleanVendorMessage, detailFor, messageFor } from './vendor-message.ts';

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
 * @param known the words that mean that the job waits or runs. A job with another word may still end, so it also runs
 */
export function unfinished(status: unknown, known: readonly unknown[], progress?: unknown): RunningState {
  const state = running(status, progress);
  if (known.includes(status)) return state;
  const text = status === undefined || status === null ? null : cleanVendorMessage(JSON.stringify(status));
  return { ...state, unknownWord: cutText(text?.replace(/^"(.*)"$/, '$1') ?? 'none', MAX_WORD_LENGTH) };
}

/**
 * @param vendorMessage the upstream's message for the client; see {@link messageFor}
 * @param facts with a `detail` if operators alone may read the upstream's message
 */
export function failed(
  code: TaskErrorCode,
  vendorMessage?: unknown,
  { detail: words = vendorMessage, ...facts }: { readonly cost?: VendorCost; readonly detail?: unknown } & JobEnd = {},
): JobState {
  const message = messageFor(code, vendorMessage);
  const detail = detailFor(words, message);
  return { state: 'failed', code, message, ...(detail !== null && { detail }), ...facts };
}
