/** The way of one request from upstream to upstream: whom to ask next, and what to say when nobody answers. */
import { ServiceError } from '../../domain/errors.ts';
import type { UpstreamFault } from '../../text/upstream-errors.ts';
import type { FailedAttempt } from './attempt.ts';
import { shareFault, type WayHealth } from './health-board.ts';
import type { UpstreamRoute, Way } from './ways.ts';

const MOST_ATTEMPTS = 3;
/** Time does not mend these by itself. */
const FAULTS_FOR_OPERATORS: ReadonlySet<UpstreamFault> = new Set(['key_refused', 'access_refused', 'model_unknown']);

export class Walk<Route extends UpstreamRoute> {
  readonly #all: readonly Way<Route>[];
  readonly #healthOf: (way: Way) => WayHealth;
  readonly #deadlineMs: number;
  #left: readonly Way<Route>[];
  #hasAskedResting = false;
  /** The attempts so far, which all failed. */
  readonly #failures: { readonly way: Way<Route>; readonly error: ServiceError }[] = [];
  #cannotExpress: ServiceError | null = null;

  /**
   * @param ways best first
   * @param deadlineMs after which nobody else is asked, in milliseconds since 1970
   */
  constructor(ways: readonly Way<Route>[], healthOf: (way: Way) => WayHealth, deadlineMs: number) {
    this.#all = ways;
    this.#left = ways;
    this.#healthOf = healthOf;
    this.#deadlineMs = deadlineMs;
  }

  /**
   * Takes the best way that is left and does not rest. Where all rest, one is asked all the same: that which returns first.
   *
   * @returns null when nobody is left to ask
   */
  next(nowMs: number): Way<Route> | null {
    const chosen = this.#choose(nowMs);
    if (chosen === null) return null;
    if (this.#healthOf(chosen).standing(nowMs) === 'resting') this.#hasAskedResting = true;
    this.#left = this.#left.filter((way) => way !== chosen);
    return chosen;
  }

  hasNext(nowMs: number): boolean {
    return this.#choose(nowMs) !== null;
  }

  /** Whether nobody has failed yet. */
  get isFirst(): boolean {
    return this.#failures.length === 0;
  }

  /** What is left of the time that all attempts have together. */
  leftMs(nowMs: number): number {
    return Math.max(this.#deadlineMs - nowMs, 0);
  }

  /**
   * Takes note of an attempt that failed.
   *
   * @returns whether others may be asked: not when the request is at fault, and not when the client has some of the answer
   */
  failed(way: Way<Route>, { error, fault, hadBegun }: FailedAttempt): boolean {
    if (fault === null || hadBegun || !(error instanceof ServiceError)) return false;
    this.#failures.push({ way, error });
    // What is wrong with this one is wrong with all that share it.
    this.#left = this.#left.filter((other) => !shareFault(way, other, fault));
    return true;
  }

  /** Goes on after a route that cannot say what the request asks. */
  cannotExpress({ route }: Way<Route>, error: ServiceError): void {
    this.#cannotExpress ??= error;
    this.#left = this.#left.filter((other) => other.route !== route);
  }

  /**
   * What a client may read when nobody answered: that it is asked to wait, if anybody asked for that, and else the last
   * failure; with the shortest wait after which somebody can be asked again, where that is known.
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

  #choose(nowMs: number): Way<Route> | null {
    const isOver = this.#failures.length > 0 && nowMs >= this.#deadlineMs;
    if (isOver || this.#failures.length >= MOST_ATTEMPTS) return null;
    const awake = this.#left.find((way) => this.#healthOf(way).standing(nowMs) !== 'resting');
    return awake ?? this.#firstToReturn(nowMs) ?? null;
  }

  #firstToReturn(nowMs: number): Way<Route> | undefined {
    if (this.#hasAskedResting) return undefined;
    const returns = (way: Way<Route>): number => this.#healthOf(way).restAt(nowMs)?.untilMs ?? 0;
    return this.#left.toSorted((one, other) => returns(one) - returns(other))[0];
  }

  /** Null where it is not known: another request may be answered at once, or not before somebody sees to it. */
  #shortestWaitSeconds(nowMs: number): number | null {
    const waits = this.#all.map((way) => this.#waitSeconds(way, nowMs));
    const shortest = Math.min(...waits);
    return shortest > 0 && Number.isFinite(shortest) ? shortest : null;
  }

  /** How long a way is away: 0 when it is not, and infinite when nobody knows. */
  #waitSeconds(way: Way<Route>, nowMs: number): number {
    const asked = this.#failures.find((failure) => failure.way === way)?.error.retryAfterSeconds;
    if (asked !== undefined) return asked;
    const rest = this.#healthOf(way).restAt(nowMs);
    if (rest === null) return 0;
    return FAULTS_FOR_OPERATORS.has(rest.cause) ? Infinity : Math.ceil((rest.untilMs - nowMs) / 1000);
  }
}

function unserved(): ServiceError {
  return new ServiceError('processing_unavailable', 'No upstream serves the model at the moment; use another model.');
}
