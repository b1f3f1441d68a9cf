/** The path of a request from upstream to upstream: which to try next, and the error if none answers. */
import { ServiceError } from '../../domain/errors.ts';
import type { UpstreamFault } from '../../text/upstream-errors.ts';
import type { FailedAttempt } from './attempt.ts';
import { shareFault, type WayHealth } from './health-board.ts';
import type { UpstreamRoute, Way } from './ways.ts';

const MAX_ATTEMPTS = 3;
/** Faults that time alone does not heal. */
const FAULTS_FOR_OPERATORS: ReadonlySet<UpstreamFault> = new Set(['key_refused', 'access_refused', 'model_unknown']);

export class Walk<Route extends UpstreamRoute> {
  readonly #all: readonly Way<Route>[];
  readonly #healthOf: (way: Way) => WayHealth;
  readonly #deadlineMs: number;
  #left: readonly Way<Route>[];
  #hasAskedOpen = false;
  /** The attempts so far, all of which failed. */
  readonly #failures: { readonly way: Way<Route>; readonly error: ServiceError }[] = [];
  #cannotExpress: ServiceError | null = null;
  /** The way that just failed, if it may answer when it is asked again. */
  #again: Way<Route> | null = null;
  #hasRetried = false;

  /**
   * @param ways best first
   * @param deadlineMs no further upstream is tried after this, in milliseconds since 1970
   */
  constructor(ways: readonly Way<Route>[], healthOf: (way: Way) => WayHealth, deadlineMs: number) {
    this.#all = ways;
    this.#left = ways;
    this.#healthOf = healthOf;
    this.#deadlineMs = deadlineMs;
  }

  /**
   * Takes the best remaining way whose circuit is not open. If there is none, takes the way that just failed once more,
   * if that may help, or else the one whose circuit closes first.
   *
   * @returns null if no way is left
   */
  next(nowMs: number): Way<Route> | null {
    const chosen = this.peek(nowMs);
    if (chosen === null) return null;
    if (chosen === this.#again) this.#hasRetried = true;
    if (this.#healthOf(chosen).state(nowMs) === 'open') this.#hasAskedOpen = true;
    this.#left = this.#left.filter((way) => way !== chosen);
    return chosen;
  }

  /** The way that {@link next} would take. */
  peek(nowMs: number): Way<Route> | null {
    const isOver = this.#failures.length > 0 && nowMs >= this.#deadlineMs;
    if (isOver || this.#failures.length >= MAX_ATTEMPTS) return null;
    const isAvailable = (way: Way<Route>): boolean => this.#healthOf(way).state(nowMs) !== 'open';
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
   * @returns whether others may be tried: not if the request is at fault, and not if the client has some of the answer
   */
  failed(way: Way<Route>, { error, fault, hadBegun, isTransient }: FailedAttempt): boolean {
    if (fault === null || hadBegun || !(error instanceof ServiceError)) return false;
    this.#failures.push({ way, error });
    this.#again = isTransient && !this.#hasRetried ? way : null;
    // The fault also excludes all ways that share the faulty part.
    this.#left = this.#left.filter((other) => !shareFault(way, other, fault));
    return true;
  }

  /** Continues after a route that cannot express the request. */
  cannotExpress({ route }: Way<Route>, error: ServiceError): void {
    this.#cannotExpress ??= error;
    this.#left = this.#left.filter((other) => other.route !== route);
  }

  /**
   * The client's error if no upstream answered: a request to wait, if any upstream made one, or else the last failure;
   * with the shortest wait after which an upstream can be tried again, if known.
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

  #firstToReturn(nowMs: number): Way<Route> | undefined {
    if (this.#hasAskedOpen) return undefined;
    const returns = (way: Way<Route>): number => this.#healthOf(way).openingAt(nowMs)?.untilMs ?? 0;
    return this.#left.toSorted((one, other) => returns(one) - returns(other))[0];
  }

  /** Null if unknown: another request may be answered at once, or only after an operator acts. */
  #shortestWaitSeconds(nowMs: number): number | null {
    const waits = this.#all.map((way) => this.#waitSeconds(way, nowMs));
    const shortest = Math.min(...waits);
    return shortest > 0 && Number.isFinite(shortest) ? shortest : null;
  }

  /** How long a way is unavailable: 0 if it is available, infinite if unknown. */
  #waitSeconds(way: Way<Route>, nowMs: number): number {
    const asked = this.#failures.find((failure) => failure.way === way)?.error.retryAfterSeconds;
    if (asked !== undefined) return asked;
    const opening = this.#healthOf(way).openingAt(nowMs);
    if (opening === null) return 0;
    return FAULTS_FOR_OPERATORS.has(opening.cause) ? Infinity : Math.ceil((opening.untilMs - nowMs) / 1000);
  }
}

function unserved(): ServiceError {
  return new ServiceError('processing_unavailable', 'No upstream serves the model at the moment; use another model.');
}
