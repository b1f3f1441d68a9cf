/** One attempt to have a request answered by an upstream, and its effect on that upstream's circuit. */
import type { UpstreamFault } from '../../domain/circuit.ts';
import { ServiceError } from '../../domain/errors.ts';
import { AnswerTooLongError, SILENT, UpstreamError } from '../../text/upstream-errors.ts';
import type { UpstreamRequest } from '../../text/wire-format.ts';
import { Answer, codeOf } from './answer.ts';
import type { CancelSignal } from './cancel-signal.ts';
import type { CandidateCircuit, CircuitCall } from './circuits.ts';
import type { UpstreamEndpoint } from './upstream-endpoint.ts';

/** A request prepared for a route. */
export interface PreparedRequest {
  readonly upstreamRequest: UpstreamRequest;
  /** Whether the upstream sends nothing before its answer is complete, although the client's answer is streamed. */
  readonly isWhole?: boolean;
  /** Measures the part of the answer that has arrived. */
  readonly meter: {
    /** Whether anything has arrived, except keep-alives. */
    readonly heard: boolean;
    /** The number of events that were skipped as unreadable. */
    readonly unreadableEvents: number;
  };
}

/** Reads an answer for a client. */
export interface AnswerReader<Prepared extends PreparedRequest> {
  /** The account that sent the request. */
  readonly account: string;
  readonly streamed: boolean;
  /** Cancelled when nobody reads the answer any further. */
  readonly signal: CancelSignal;
  /** Cancelled when the client has disconnected; Genway may still read the answer. */
  readonly left: CancelSignal;
  /** Reads until the first output for the client is ready. Until then failover is possible. */
  begin(answer: Answer, prepared: Prepared): Promise<void>;
  /** Reads the rest of the answer. */
  readOn(answer: Answer, prepared: Prepared): Promise<void>;
}

export interface FailedAttempt {
  readonly error: unknown;
  /** The upstream's fault; null if none is known. */
  readonly fault: UpstreamFault | null;
  /** Whether output for the client was ready. */
  readonly hadStarted: boolean;
  /** Whether a retry over the same route may succeed: the failure was momentary, and no finished answer was lost. */
  readonly isTransient: boolean;
}

/** The maximum delay of Node's timers. */
const MAX_TIMER_MS = 2 ** 31 - 1;
/** If the client disconnects after this much silence, the upstream counts as silent. Whole answers take longer. */
const SILENCE_MS = { streamed: 10_000, whole: 60_000 };
/** If the client of a whole answer disconnects after this much silence, it is a hint that the upstream is silent. */
const HINT_MS = 15_000;

/** Whether the upstream sends the answer while it makes it. */
export function isStreamed(
  { streamed }: { readonly streamed: boolean },
  { isWhole = false }: Pick<PreparedRequest, 'isWhole'>,
): boolean {
  return streamed && !isWhole;
}

/**
 * Sends a request and lets the reader read its answer.
 *
 * @param limitMs how long a streamed answer may take to start, and a whole answer may be silent
 * @returns the failure; null if the answer was read to its end
 */
export async function attempt<Prepared extends PreparedRequest>(
  endpoint: UpstreamEndpoint,
  circuit: CandidateCircuit,
  prepared: Prepared,
  reader: AnswerReader<Prepared>,
  limitMs: number,
  nowMs: () => number,
): Promise<FailedAttempt | null> {
  const { signal, left } = reader;
  const startedAtMs = nowMs();
  const streamed = isStreamed(reader, prepared);
  const call = circuit.start(startedAtMs, reader.account);
  const expire = (): void => {
    // Once output has arrived, the silence may be due to a slow client.
    if (!prepared.meter.heard) answer.giveUp(new UpstreamError(SILENT));
  };
  const timer = setTimeout(expire, Math.min(limitMs, MAX_TIMER_MS));
  const answer = new Answer(signal, () => void (streamed || timer.refresh()));
  const isSilentFor = (ms: number): boolean => !prepared.meter.heard && nowMs() - startedAtMs >= ms;
  const isSilent = (): boolean => isSilentFor(SILENCE_MS[streamed ? 'streamed' : 'whole']);
  const noteLeaving = (): void => {
    if (isSilent()) call.failed('silent', nowMs(), null);
    else if (!streamed && isSilentFor(HINT_MS)) call.record('abandoned', nowMs());
  };
  left.listen(noteLeaving);
  let hadStarted = false;
  try {
    await endpoint.send(prepared.upstreamRequest, answer);
    await reader.begin(answer, prepared);
    hadStarted = true;
    call.record('started', nowMs());
    await reader.readOn(answer, prepared);
    call.record('completed', nowMs());
    return null;
  } catch (error) {
    const fault = signal.isCancelled ? (isSilent() ? 'silent' : null) : faultOf(error);
    noteFailure(call, fault, error, nowMs());
    return { error, fault, hadStarted, isTransient: isTransient(error, nowMs() - startedAtMs) };
  } finally {
    clearTimeout(timer);
    left.unlisten(noteLeaving);
    answer.discard();
  }
}

export function noteFailure(call: CircuitCall, fault: UpstreamFault | null, error: unknown, nowMs: number): void {
  if (fault === null) return call.record('unclear', nowMs);
  const requestedSeconds = error instanceof UpstreamError ? error.requestedWaitSeconds : null;
  call.failed(fault, nowMs, requestedSeconds === null ? null : requestedSeconds * 1000);
}

/** Statuses that mean that an upstream is briefly unavailable. */
const TRANSIENT_STATUSES: ReadonlySet<number | null> = new Set([502, 503, 504]);
/** Error codes of connections that were refused, or closed before any byte of an answer. */
const TRANSIENT_CODES: ReadonlySet<string> = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']);
/** An upstream that fails later may have generated the answer, and charged for it. */
const MAX_TRANSIENT_MS = 10_000;

export function isTransient(error: unknown, tookMs: number): boolean {
  if (!(error instanceof UpstreamError) || error.requestedWaitSeconds !== null || tookMs > MAX_TRANSIENT_MS)
    return false;
  return TRANSIENT_STATUSES.has(error.upstreamStatus) || TRANSIENT_CODES.has(codeOf(error.cause));
}

/** Errors of answers that started successfully and then failed. */
const FAILURE_CODES: ReadonlySet<string> = new Set([
  'processing_unavailable',
  'processing_timeout',
  'processing_failed',
  'result_transfer_failed',
]);

/** The upstream's fault; null if the request, or the gateway itself, is at fault. */
export function faultOf(error: unknown): UpstreamFault | null {
  if (error instanceof UpstreamError) return error.fault;
  // Any upstream may send more than Genway can deliver if the request asks for several answers.
  if (!(error instanceof ServiceError) || error instanceof AnswerTooLongError) return null;
  return FAILURE_CODES.has(error.code) ? 'failed' : null;
}
