/** Builds the states of jobs from what upstreams report. */
import type { TaskErrorCode } from '../../domain/errors.ts';
import type { VendorCost } from '../../domain/media-route.ts';
import type { JobEnd, JobState } from './adapter.ts';
import { messageFor, cleanVendorMessage } from './words.ts';

/** @param status the upstream's word for the state, for operators */
export function running(status: unknown, progress?: unknown): JobState {
  const isPercent = typeof progress === 'number' && progress >= 0 && progress <= 100;
  return { state: 'running', progressPercent: isPercent ? progress : null, detail: cleanVendorMessage(status) };
}

/** @param words the upstream's words for the client; see {@link messageFor} */
export function failed(
  code: TaskErrorCode,
  words?: unknown,
  facts: { readonly cost?: VendorCost } & JobEnd = {},
): JobState {
  return { state: 'failed', code, message: messageFor(code, words), ...facts };
}
