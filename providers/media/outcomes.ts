/**
 * The ways in which a call of a media upstream can fail. A submission has four outcomes: accepted, refused, not taken
 * and unknown. After an unknown outcome, a second submission could render twice. A call that only reads can be
 * repeated, so its only error is {@link ProviderUnreachableError}.
 */
import type { TaskErrorCode } from '../../domain/errors.ts';
import type { NotTakenCause, VendorCost } from '../../domain/media-route.ts';
import { cleanVendorMessage, detailFor, messageFor } from './vendor-message.ts';

/** The upstream refused the job. The same request would be refused again. */
export class JobRefusedError extends Error {
  override readonly name = 'JobRefusedError';
  readonly code: TaskErrorCode;
  /** What the upstream answered, for operators; null if the message says it. */
  readonly detail: string | null;
  /** The amount that the upstream charges although it refused; null if it reported none. */
  readonly cost: VendorCost | null;

  /** @param vendorMessage the upstream's message for the client; shown, after clean-up, for codes that a client can act on */
  constructor(code: TaskErrorCode, vendorMessage?: unknown, cost: VendorCost | null = null) {
    super(messageFor(code, vendorMessage));
    this.code = code;
    this.detail = detailFor(vendorMessage, this.message);
    this.cost = cost;
  }
}

interface NotTakenOptions {
  /** The upstream cannot serve this task, because our credential, our money or the model is missing. */
  readonly isRouteExcluded?: boolean;
  /** The request was not sent, because the upstream could not be reached. */
  readonly isUnreachable?: boolean;
  /** The wait that the upstream asks for. */
  readonly retryAfterMs?: number | undefined;
  readonly cause?: unknown;
}

/** The upstream certainly has no job for this submission. The message is for operators. */
export class NotTakenError extends Error {
  override readonly name = 'NotTakenError';
  readonly isRouteExcluded: boolean;
  readonly retryAfterMs: number | undefined;
  readonly reason: NotTakenCause;

  constructor(
    message: string,
    { isRouteExcluded = false, isUnreachable = false, retryAfterMs, cause }: NotTakenOptions = {},
  ) {
    super(lineOf(message), { cause });
    this.isRouteExcluded = isRouteExcluded;
    this.reason = isRouteExcluded ? 'access_refused' : isUnreachable ? 'unreachable' : 'busy';
    this.retryAfterMs = retryAfterMs;
  }
}

interface UnreachableOptions {
  readonly retryAfterMs?: number | undefined;
  readonly cause?: unknown;
}

/** No verdict: the upstream could not be reached or understood. A call that only reads may be repeated. */
export class ProviderUnreachableError extends Error {
  override readonly name: string = 'ProviderUnreachableError';
  /** The wait that the upstream asks for. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, { retryAfterMs, cause }: UnreachableOptions = {}) {
    super(lineOf(message), { cause });
    this.retryAfterMs = retryAfterMs;
  }
}

/** The upstream may have a job for this submission. Do not submit again before the outcome is known. */
export class OutcomeUnknownError extends ProviderUnreachableError {
  override readonly name = 'OutcomeUnknownError';
}

export type SubmissionError = JobRefusedError | NotTakenError | OutcomeUnknownError;

/** Cleans up a message, which may contain an upstream's own message: messages are stored and shown to operators. */
function lineOf(message: string): string {
  return cleanVendorMessage(message) ?? 'the upstream gave no reason';
}

/** Reads a string that an upstream must send. @throws OutcomeUnknownError */
export function textOf(value: unknown, what: string): string {
  if (isName(value)) return value;
  throw new OutcomeUnknownError(`the upstream sent no valid ${what}`);
}

/** Whether a value can be stored and sent as a name: printable text on one line, of at most 500 characters. */
export function isName(value: unknown): value is string {
  return typeof value === 'string' && cleanVendorMessage(value) === value;
}
