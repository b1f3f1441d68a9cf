/** How many lines of a chunk run at once: more while all goes well, fewer after each sign of an overload. */
const FIRST_LINES = 8;
const MAX_LINES = 128;
const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 30_000;

export interface Pace {
  /** The lines that may run at once. */
  readonly limit: number;
  /** Milliseconds until the next line may start. */
  pauseMs(): number;
  succeeded(): void;
  /** Halves the limit, and pauses. @param retryAfterSeconds the pause that the upstream asks for */
  failed(retryAfterSeconds: number | undefined): void;
}

export function createPace(nowMs: () => number): Pace {
  let limit = FIRST_LINES;
  let untilMs = 0;
  let nextPauseMs = FIRST_PAUSE_MS;
  return {
    get limit() {
      return Math.floor(limit);
    },
    pauseMs: () => Math.max(untilMs - nowMs(), 0),
    succeeded: () => {
      nextPauseMs = FIRST_PAUSE_MS;
      limit = Math.min(limit + 1, MAX_LINES);
    },
    failed: (retryAfterSeconds) => {
      // Lines that started together fail together, which is one sign.
      if (nowMs() < untilMs) return;
      limit = Math.max(limit / 2, 1);
      const pauseMs = retryAfterSeconds === undefined ? nextPauseMs : retryAfterSeconds * 1000;
      untilMs = nowMs() + Math.min(pauseMs, MAX_PAUSE_MS);
      nextPauseMs = Math.min(2 * nextPauseMs, MAX_PAUSE_MS);
    },
  };
}
