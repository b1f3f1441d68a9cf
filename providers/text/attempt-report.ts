/** Reports finished attempts: to operators in the log, and to the client whose request an upstream refused. */
import type { UpstreamFault } from '../../domain/circuit.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { UpstreamFormatName } from '../../domain/wire-format-name.ts';
import { UpstreamError } from '../../text/upstream-errors.ts';
import { codeOf } from './answer.ts';
import type { AnswerReader, FailedAttempt, PreparedRequest } from './attempt.ts';
import { fieldNamesOf, toLogLine, redactVendorMessage } from './vendor-message.ts';
import { type Candidate, keyHint } from './candidates.ts';

/** A finished attempt. */
export interface AttemptReport {
  readonly account: string;
  readonly requestId: string;
  /** Counts the attempts of a request, from 1 on. */
  readonly number: number;
  readonly upstream: string;
  readonly format: UpstreamFormatName;
  readonly model: string;
  /** The last four characters of the key. */
  readonly key: string;
  /** The HTTP status of a refusal; null if there was none. */
  readonly status: number | null;
  /** The upstream's fault; null if none is known. */
  readonly fault: UpstreamFault | null;
  /** The upstream's own message, on one line and without secrets; empty if it sent none. */
  readonly vendorMessage: string;
  /** The error code of undici or the system; empty if there is none. */
  readonly reason: string;
  readonly decision: Decision;
  /** The number of events of the answer that were skipped as unreadable. */
  readonly unreadableEvents: number;
  readonly seconds: number;
}

/**
 * `answered`: the answer is complete; `next`: another candidate follows; `retry`: the same candidate is tried once
 * more; `refused`: the client gets the error, as no candidate is left or its request is at fault; `broken`: the client
 * already has a part of the answer; `cancelled`: the caller cancelled the request.
 */
export type Decision = 'answered' | 'next' | 'retry' | 'refused' | 'broken' | 'cancelled';

/** @param following the next attempt; null if there is none */
export function classifyAttempt(
  failure: FailedAttempt | null,
  following: 'next' | 'retry' | null,
  { signal, left }: Pick<AnswerReader<PreparedRequest>, 'signal' | 'left'>,
): Decision {
  if (failure === null) return 'answered';
  if (signal.isCancelled) return 'cancelled';
  if (failure.hadStarted) return 'broken';
  if (following === null) return 'refused';
  return left.isCancelled ? 'cancelled' : following;
}

/** The facts of an attempt apart from its candidate and its failure. */
type AttemptFacts = Pick<
  AttemptReport,
  'account' | 'requestId' | 'number' | 'decision' | 'unreadableEvents' | 'seconds'
>;

/** @param secrets removed from the upstream's message, so that the log never contains them */
export function describeAttempt(
  { route: { provider, format, model }, key }: Candidate,
  failure: FailedAttempt | null,
  secrets: readonly string[],
  { account, requestId, number, decision, unreadableEvents, seconds }: AttemptFacts,
): AttemptReport {
  const error = failure?.error;
  const answer = error instanceof UpstreamError ? error : null;
  return {
    account,
    requestId,
    number,
    upstream: provider,
    format,
    model,
    key: keyHint(key),
    status: answer?.upstreamStatus ?? null,
    fault: failure?.fault ?? null,
    vendorMessage: toLogLine(answer?.vendorMessage ?? '', secrets),
    reason: error instanceof Error ? codeOf(error.cause) : '',
    decision,
    unreadableEvents,
    seconds,
  };
}

/**
 * The error for the client. If the upstream refused the request, the error includes the upstream's message.
 *
 * @param body the client's request
 */
export function errorForClient(error: unknown, body: unknown): unknown {
  if (!(error instanceof UpstreamError) || error.code !== 'bad_request' || error.overflow !== null) return error;
  const message = redactVendorMessage(error.vendorMessage, fieldNamesOf(body));
  if (message === '') return error;
  return new ServiceError('bad_request', `${error.message} The model reported: ${message}`, { cause: error });
}
