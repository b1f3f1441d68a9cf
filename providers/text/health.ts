/** When an upstream that keeps failing is left alone for a while. */

const FAILURES_BEFORE_REST = 5;
const REST_MS = 10_000;

/** The recent fate of one upstream, as this process saw it. */
export class Health {
  #failuresInRow = 0;
  #restsUntilMs = 0;

  noteSuccess(): void {
    this.#failuresInRow = 0;
    this.#restsUntilMs = 0;
  }

  /** After some failures in a row the upstream rests; after that each further failure makes it rest again. */
  noteFailure(nowMs: number): void {
    this.#failuresInRow += 1;
    if (this.#failuresInRow >= FAILURES_BEFORE_REST) this.#restsUntilMs = nowMs + REST_MS;
  }

  rests(nowMs: number): boolean {
    return nowMs < this.#restsUntilMs;
  }
}
