/** Shared by Kling's two APIs: envelopes with a `code`, refusals, inputs and reasons of failures. */
import type { TaskErrorCode } from '../../../domain/errors.ts';
import { type JsonObject, objectOf } from '../../../domain/json.ts';
import type { VendorCost } from '../../../domain/media-route.ts';
import type { JobEnd, JobState, RenderRequest } from '../adapter.ts';
import { failed } from '../job-state.ts';
import { PLAIN_AMOUNT } from '../json.ts';
import { JobRefusedError, OutcomeUnknownError, ProviderUnreachableError, type SubmissionError } from '../outcomes.ts';
import type { ResultFile } from '../result-file.ts';
import { submissionErrorFor } from '../vendor-codes.ts';
import { retryAfterMs, type VendorAnswer } from '../vendor-http.ts';
import { klingCodes } from './kling-codes.ts';

const TOO_MANY_WAIT_MS = 1_000;
/** The states of both APIs for a task that waits or runs. */
export const UNFINISHED: readonly unknown[] = ['submitted', 'processing'];

/** The `data` of an accepted submission. @throws SubmissionError for any other code than 0 */
export function acceptedData(answer: VendorAnswer): unknown {
  const { code, data } = objectOf(answer.document);
  if (code === 0) return data;
  throw refusal(answer) ?? new OutcomeUnknownError('the upstream answered without a code');
}

/** An unknown code leaves the outcome unknown. */
export function refusal(answer: VendorAnswer): SubmissionError | null {
  const { code, message: vendorMessage } = objectOf(answer.document);
  if (typeof code !== 'number' || code === 0) return null;
  const operatorMessage = `the upstream answered code ${code}`;
  // Our id exists already: an earlier submission arrived, and recovery can look it up.
  if (/external_task_id/.test(String(vendorMessage)))
    return new OutcomeUnknownError(`${operatorMessage}, about the external_task_id`);
  const facts = { operatorMessage, vendorMessage, retryAfterMs: retryAfterMs(answer) ?? TOO_MANY_WAIT_MS };
  return submissionErrorFor(klingCodes.meaningOf(code) ?? 'failed', facts);
}

/** An answer to a call that only reads, with an error code and perhaps with status 200. */
export function unreadable(answer: VendorAnswer): ProviderUnreachableError {
  const { status, document } = answer;
  const { code } = objectOf(document);
  return new ProviderUnreachableError(`the upstream answered ${status} with code ${JSON.stringify(code)}`, {
    retryAfterMs: retryAfterMs(answer) ?? (klingCodes.meaningOf(code) === 'busy' ? TOO_MANY_WAIT_MS : undefined),
  });
}

/** Only the message of a failed task gives the reason. */
export function failedFor(message: unknown, facts: { readonly cost?: VendorCost } & JobEnd): JobState {
  return failed(verdictOf(String(message)), message, facts);
}

function verdictOf(message: string): TaskErrorCode {
  if (/risk|sensitive|moderat|safety|polic|content (check|security|violat)/i.test(message)) {
    return 'content_policy_violation';
  }
  return /\b(invalid|unsupported|not supported|out of range|too (large|small|long|short))\b/i.test(message)
    ? 'bad_request'
    : 'processing_failed';
}

export function filesAt(files: readonly unknown[]): readonly ResultFile[] {
  const links = files.map((file) => objectOf(file)['url']).filter((url) => typeof url === 'string');
  return links.map((url) => ({ url, mimeType: null }));
}

/** @param amount as the vendor writes it, a number or a decimal */
export function costOf(amount: unknown, unit: string): { readonly cost?: VendorCost } {
  const decimal = typeof amount === 'number' ? String(amount) : amount;
  return typeof decimal === 'string' && PLAIN_AMOUNT.test(decimal) ? { cost: { amount: decimal, unit } } : {};
}

export function tooMuch(what: string): JobRefusedError {
  return new JobRefusedError('bad_request', `The model takes ${what}.`);
}

/** The frames of a video. @throws JobRefusedError if there are more than its route allows */
export function framesOf({ images = [], imagesAs }: RenderRequest): readonly string[] {
  const most = imagesAs === 'first_frame' ? 1 : 2;
  if (images.length > most) throw tooMuch(most === 1 ? 'at most one image' : 'at most two images');
  return images;
}

export function withDefined(fields: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
