/** The failover of a request: which upstream to try next, and the error if none answers. */
import { FAULT_RULES } from '../../domain/circuit.ts';
import { ServiceError } from '../../domain/errors.ts';
import { UpstreamError } from '../../text/upstream-errors.ts';
import type { FailedAttempt } from './attempt.ts';
import { type CandidateCircuit, hasSharedFault } from './circuits.ts';
import type { UpstreamRoute, Candidate } from './candidates.ts';

const MAX_ATTEMPTS = 3;
/** A longer wait costs the client more time than another upstream costs it for a prompt without its cache. */
const MAX_PAUSE_SECONDS = 1;

export class Failover<Route extends UpstreamRoute> {
  readonly #all: readonly Candidate<Route>[];
  readonly #circuitOf: (candidate: Candidate) => CandidateCircuit;
  readonly #deadlineMs: number;
  #left: readonly Candidate<Route>[];
  #hasTriedOpen = false;
  /** The attempts so far, all of which failed. */
  readonly #failures: { readonly candidate: Candidate<Route>; readonly error: ServiceError }[] = [];
  #cannotExpress: ServiceError | null = null;
  /** The candidate that just failed, if a retry may succeed. */
  #again: Candidate<Route> | null = null;
  #hasRetried = false;
  readonly #isCached: boolean;
  /** How long to pause before {@link #again} is called in any case; null if other candidates come first. */
  #pauseMs: number | null = null;

  /**
   * @param candidates best first
   * @param deadlineMs the time after which no further attempt starts, in milliseconds since 1970
   * @param isCached whether the best candidate probably has the prompt in its cache
   */
  constructor(
    candidates: readonly Candidate<Route>[],
    circuitOf: (candidate: Candidate) => CandidateCircuit,
    deadlineMs: number,
    isCached = false,
  ) {
    this.#all = candidates;
    this.#left = candidates;
    this.#circuitOf = circuitOf;
    this.#deadlineMs = deadlineMs;
    this.#isCached = isCached;
  }

  /** How long to pause before the next attempt, in milliseconds. */
  get pauseMs(): number {
    return this.#pauseMs ?? 0;
  }

  /**
   * Takes the candidate that asked for a short pause, or the best remaining candidate whose circuit is not open. If there is none, retries the candidate that just
   * failed, if a retry may succeed, or else takes the candidate whose opening ends first.
   *
   * @returns null if no candidate is left
   */
  next(nowMs: number): Candidate<Route> | null {
    const chosen = this.peek(nowMs);
    if (chosen === null) return null;
    if (chosen === this.#again) this.#hasRetried = true;
    if (this.#circuitOf(chosen).state(nowMs) === 'open') this.#hasTriedOpen = true;
    this.#left = this.#left.filter((candidate) => candidate !== chosen);
    return chosen;
  }

  /** The candidate that {@link next} would take. */
  peek(nowMs: number): Candidate<Route> | null {
    const isOver = this.#failures.length > 0 && nowMs >= this.#deadlineMs;
    if (isOver || this.#failures.length >= MAX_ATTEMPTS) return null;
    if (this.#again !== null && this.#pauseMs !== null) return this.#again;
    const isAvailable = (candidate: Candidate<Route>): boolean => this.#circuitOf(candidate).state(nowMs) !== 'open';
    const again = this.#again !== null && isAvailable(this.#again) ? this.#again : undefined;
    return this.#left.find(isAvailable) ?? again ?? this.#firstToReturn(nowMs) ?? null;
  }

  /** The time left for all attempts together. */
  leftMs(nowMs: number): number {
    return Math.max(this.#deadlineMs - nowMs, 0);
  }

  /**
   * Records a failed attempt.
   *
   * @returns whether failover is possible: not if the request is at fault, or output for the client was ready
   */
  failed(candidate: Candidate<Route>, { error, fault, hadStarted, isTransient }: FailedAttempt): boolean {
    if (fault === null || hadStarted || !(error instanceof ServiceError)) return false;
    this.#failures.push({ candidate, error });
    this.#pauseMs = candidate === this.#all[0] && this.#isCached && !this.#hasRetried ? shortPauseMs(error) : null;
    this.#again = (isTransient || this.#pauseMs !== null) && !this.#hasRetried ? candidate : null;
    // Also excludes all candidates that share the faulty part.
    this.#left = this.#left.filter((other) => !hasSharedFault(candidate, other, fault));
    return true;
  }

  /** Continues after a route that cannot express the request. */
  cannotExpress({ route }: Candidate<Route>, error: ServiceError): void {
    this.#cannotExpress ??= error;
    this.#left = this.#left.filter((other) => other.route !== route);
  }

  /**
   * The client's error if no upstream answered: the error of an upstream that asked for a wait, or else the last
   * failure. Includes the shortest wait after which an upstream is available again, if known.
   */
  refusal(nowMs: number): ServiceError {
    const errors = this.#failures.map(({ error }) => error);
    const [overloaded] = errors
      .filter(({ code }) => code === 'rate_limit_exceeded')
      .toSorted((one, other) => (one.retryAfterSeconds ?? 0) - (other.retryAfterSeconds ?? 0));
    const shown = overloaded ?? errors.at(-1);
    if (shown === undefined) return this.#cannotExpress ?? unserved();
    const retryAfterSeconds = this.#shortestWaitSeconds(nowMs) ?? shown.retryAfterSeconds;
    return new ServiceError(shown.code, shown.message, { retryAfterSeconds, cause: shown.cause });
  }

  #firstToReturn(nowMs: number): Candidate<Route> | undefined {
    if (this.#hasTriedOpen) return undefined;
    const returns = (candidate: Candidate<Route>): number => this.#circuitOf(candidate).openingAt(nowMs)?.untilMs ?? 0;
    return this.#left.toSorted((one, other) => returns(one) - returns(other))[0];
  }

  /** Null if unknown: a candidate is available now, or only an operator can correct the fault. */
  #shortestWaitSeconds(nowMs: number): number | null {
    const waits = this.#all.map((candidate) => this.#waitSeconds(candidate, nowMs));
    const shortest = Math.min(...waits);
    return shortest > 0 && Number.isFinite(shortest) ? shortest : null;
  }

  /** How long a candidate is unavailable: 0 if it is available, infinite if unknown. */
  #waitSeconds(candidate: Candidate<Route>, nowMs: number): number {
    const requested = this.#failures.find((failure) => failure.candidate === candidate)?.error.retryAfterSeconds;
    if (requested !== undefined) return requested;
    const opening = this.#circuitOf(candidate).openingAt(nowMs);
    if (opening === null) return 0;
    return FAULT_RULES[opening.cause].needsOperator ? Infinity : Math.ceil((opening.untilMs - nowMs) / 1000);
  }
}

/** The pause that an upstream asked for because of its load; null if it asked for none, or for a long one. */
function shortPauseMs(error: ServiceError): number | null {
  const seconds = error instanceof UpstreamError && error.fault === 'rate_limited' ? error.requestedWaitSeconds : null;
  return seconds !== null && seconds <= MAX_PAUSE_SECONDS ? seconds * 1000 : null;
}

function unserved(): ServiceError {
  return new ServiceError('processing_unavailable', 'No upstream serves the model at the moment; use another model.');
}
