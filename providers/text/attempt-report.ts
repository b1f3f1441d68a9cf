/** Reports of finished attempts: to operators in the log, and to the client whose request was refused. */
import { ServiceError } from '../../domain/errors.ts';
import type { UpstreamFormatName } from '../../domain/wire-format-name.ts';
import { UpstreamError, type UpstreamFault } from '../../text/upstream-errors.ts';
import { codeOf } from './answer.ts';
import type { AnswerReader, FailedAttempt, PreparedRequest } from './attempt.ts';
import { fieldNamesOf, lineForOperators, wordsForClient } from './vendor-words.ts';
import { shownKey } from './circuit-state.ts';
import type { Candidate } from './candidates.ts';

/** A finished attempt. */
export interface AttemptReport {
  /** Whose request it was. */
  readonly account: string;
  readonly requestId: string;
  /** From 1 on, for each call. */
  readonly number: number;
  readonly upstream: string;
  readonly format: UpstreamFormatName;
  readonly model: string;
  /** The last four characters of the key. */
  readonly key: string;
  /** The HTTP status of a refusal; null if there was none. */
  readonly status: number | null;
  /** The fault of the upstream; null if none is known. */
  readonly fault: UpstreamFault | null;
  /** The upstream's own words, on one line and without secrets; empty if it sent none. */
  readonly vendorMessage: string;
  /** The name of the failure in undici or the system; empty if neither names it. */
  readonly reason: string;
  readonly decision: Decision;
  /** How many events of the answer were skipped because they could not be read. */
  readonly unreadableEvents: number;
  readonly seconds: number;
}

/**
 * `answered`; `next`: another upstream is tried; `retry`: the same one is tried once more; `refused`: the client gets the
 * error, for lack of another upstream or because its request is at fault; `broken`: the client has already had a part of
 * the answer; `cancelled` by the caller.
 */
export type Decision = 'answered' | 'next' | 'retry' | 'refused' | 'broken' | 'cancelled';

/** @param following the next attempt; null if there is none */
export function decisionOn(
  failure: FailedAttempt | null,
  following: 'next' | 'retry' | null,
  { signal, left }: Pick<AnswerReader<PreparedRequest>, 'signal' | 'left'>,
): Decision {
  if (failure === null) return 'answered';
  if (signal.isCancelled) return 'cancelled';
  if (failure.hadBegun) return 'broken';
  if (following === null) return 'refused';
  return left.isCancelled ? 'cancelled' : following;
}

/** The facts of an attempt apart from its candidate and its failure. */
type AttemptFacts = Pick<
  AttemptReport,
  'account' | 'requestId' | 'number' | 'decision' | 'unreadableEvents' | 'seconds'
>;

/** @param secrets never to be logged, whatever an upstream says */
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
    key: shownKey(key),
    status: answer?.upstreamStatus ?? null,
    fault: failure?.fault ?? null,
    vendorMessage: lineForOperators(answer?.vendorMessage ?? '', secrets),
    reason: error instanceof Error ? codeOf(error.cause) : '',
    decision,
    unreadableEvents,
    seconds,
  };
}

/**
 * The error for the client, including the upstream's message about a request that it refused.
 *
 * @param body the client's request
 */
export function errorForClient(error: unknown, body: unknown): unknown {
  if (!(error instanceof UpstreamError) || error.code !== 'bad_request') return error;
  const words = wordsForClient(error.vendorMessage, fieldNamesOf(body));
  if (words === '') return error;
  return new ServiceError('bad_request', `${error.message} It said: ${words}`, { cause: error });
}
