/** A value that expires, such as a token: fetched ahead of its end, once for all requests that wait. */
import { setTimeout as sleep } from 'node:timers/promises';
import { toLogLine } from '../text/vendor-message.ts';
import { CredentialsError, type CredentialsOptions } from './credentials.ts';

export interface Expiring<Value> {
  readonly value: Value;
  /** In milliseconds since 1970; infinite for a value that does not expire. */
  readonly expiresAtMs: number;
}

/** Limits a fetch: token services answer within a second. */
export const FETCH_TIMEOUT_MS = 10_000;
/** A value is renewed so long before its end, or after three quarters of a short life. */
const AHEAD_MS = 5 * 60_000;
/** A value is no longer sent so shortly before its end: the request is on its way meanwhile. */
const MARGIN_MS = 30_000;
/** The pause after a failed fetch. */
const PAUSE_MS = 5_000;
/** A value younger than this is not renewed because an upstream refuses it. */
const MIN_AGE_MS = 30_000;

interface Current<Value> {
  readonly value: Value;
  readonly fetchedAtMs: number;
  readonly renewAtMs: number;
  readonly usableUntilMs: number;
}

export class Renewed<Value> {
  readonly #fetch: () => Promise<Expiring<Value>>;
  readonly #secrets: readonly string[];
  readonly #nowMs: () => number;
  readonly #timeoutMs: number;
  #current: Current<Value> | null = null;
  #flight: Promise<Value> | null = null;
  #failure: CredentialsError | null = null;
  #pausedUntilMs = 0;

  /** @param secrets removed from messages for operators */
  constructor(
    fetch: () => Promise<Expiring<Value>>,
    secrets: readonly string[],
    { nowMs = Date.now, timeoutMs = FETCH_TIMEOUT_MS }: Pick<CredentialsOptions, 'nowMs' | 'timeoutMs'> = {},
  ) {
    this.#fetch = fetch;
    this.#secrets = secrets;
    this.#nowMs = nowMs;
    this.#timeoutMs = timeoutMs;
  }

  /**
   * Returns the value. Close to its end, a new one is fetched meanwhile; if that fails, the value is kept until its end.
   *
   * @throws CredentialsError if there is no valid value
   */
  async get(): Promise<Value> {
    const nowMs = this.#nowMs();
    const current = this.#current;
    if (current !== null && nowMs < current.usableUntilMs) {
      if (nowMs >= current.renewAtMs && nowMs >= this.#pausedUntilMs) this.#renewInBackground();
      return current.value;
    }
    if (this.#flight === null && this.#failure !== null && nowMs < this.#pausedUntilMs) throw this.#failure;
    return this.#renew();
  }

  /** Fetches a new value at once, unless the current one is new. Requests use the current one meanwhile. */
  renew(): void {
    const isNew = this.#current !== null && this.#nowMs() - this.#current.fetchedAtMs < MIN_AGE_MS;
    if (!isNew && this.#nowMs() >= this.#pausedUntilMs) this.#renewInBackground();
  }

  #renewInBackground(): void {
    // A failure is kept for the request that finds no valid value.
    this.#renew().catch(() => {});
  }

  #renew(): Promise<Value> {
    return (this.#flight ??= this.#fetchOnce().finally(() => (this.#flight = null)));
  }

  async #fetchOnce(): Promise<Value> {
    const startedAtMs = this.#nowMs();
    try {
      const { value, expiresAtMs } = await withTimeout(this.#fetch(), this.#timeoutMs);
      const lifeMs = expiresAtMs - startedAtMs;
      if (!(lifeMs > 0)) throw new CredentialsError('the token service sent an expired token', { isRefused: false });
      this.#current = {
        value,
        fetchedAtMs: startedAtMs,
        renewAtMs: expiresAtMs - Math.min(AHEAD_MS, lifeMs / 4),
        usableUntilMs: expiresAtMs - Math.min(MARGIN_MS, lifeMs / 10),
      };
      this.#failure = null;
      return value;
    } catch (error) {
      this.#pausedUntilMs = this.#nowMs() + PAUSE_MS;
      this.#failure = toCredentialsError(error, this.#secrets);
      throw this.#failure;
    }
  }
}

/** The vendors' libraries set no limit of their own, or a longer one. */
async function withTimeout<Value>(fetched: Promise<Value>, timeoutMs: number): Promise<Value> {
  const over = new AbortController();
  const limit = sleep(timeoutMs, null, { signal: over.signal }).then(() => {
    throw new CredentialsError('the token service did not answer in time', { isRefused: false });
  });
  limit.catch(() => {});
  try {
    return await Promise.race([fetched, limit]);
  } finally {
    over.abort();
    fetched.catch(() => {});
  }
}

/** A refusal's statuses, except those that ask for another attempt. */
function isRefusal(status: number): boolean {
  return status >= 400 && status < 500 && status !== 408 && status !== 429;
}

/** Keeps only the message: errors of libraries hold the whole request, with its secrets. */
function toCredentialsError(error: unknown, secrets: readonly string[]): CredentialsError {
  if (error instanceof CredentialsError) return error;
  const message = error instanceof Error ? error.message || error.name : String(error);
  return new CredentialsError(`no token: ${toLogLine(message, secrets) || 'the token service gave no reason'}`, {
    isRefused: isRefusal(statusOf(error)),
  });
}

/** The HTTP status in an error of a vendor's library; 0 if there is none. */
function statusOf(error: unknown): number {
  const { status, $metadata, response } = Object(error);
  return Number(Object(response).status ?? status ?? Object($metadata).httpStatusCode ?? 0) || 0;
}
