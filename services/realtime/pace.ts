/** Bounds how fast a client sends: audio by how long it plays, and events by their number and bytes. */
import { REALTIME } from '../../domain/policy.ts';

const { audioPace, eventsPerSecond, bytesPerSecond, maxMessageBytes } = REALTIME;

/** An event of a client. */
interface PacedEvent {
  readonly audioSeconds: number;
  readonly bytes: number;
}

export class Pace {
  readonly #audioSeconds = new Budget((audioPace.factor * audioPace.periodMs) / 1000, audioPace.factor);
  readonly #events = new Budget(eventsPerSecond, eventsPerSecond);
  readonly #bytes = new Budget(maxMessageBytes, bytesPerSecond);
  #atMs: number;

  constructor(nowMs: number) {
    this.#atMs = nowMs;
  }

  /** Counts an event. @returns how long not to read on, in milliseconds */
  count({ audioSeconds, bytes }: PacedEvent, nowMs: number): number {
    const seconds = Math.max(nowMs - this.#atMs, 0) / 1000;
    this.#atMs = nowMs;
    const waits = [
      this.#audioSeconds.spend(audioSeconds, seconds),
      this.#events.spend(1, seconds),
      this.#bytes.spend(bytes, seconds),
    ];
    return Math.max(...waits) * 1000;
  }
}

/** What a client may send at once, and how much more with each second. */
class Budget {
  readonly #max: number;
  readonly #perSecond: number;
  #left: number;

  constructor(max: number, perSecond: number) {
    this.#max = max;
    this.#perSecond = perSecond;
    this.#left = max;
  }

  /** @param seconds since the last call @returns the seconds until the budget is no longer overspent */
  spend(amount: number, seconds: number): number {
    this.#left = Math.min(this.#left + seconds * this.#perSecond, this.#max) - amount;
    return Math.max(-this.#left / this.#perSecond, 0);
  }
}
