/** Bounds how fast a client sends: audio by how long it plays, and events by their number. */
import { REALTIME } from '../../domain/policy.ts';

export class Pace {
  /** What the client may send at once: seconds of audio, and events. */
  #audioSeconds = (REALTIME.audioPace.factor * REALTIME.audioPace.periodMs) / 1000;
  #events: number = REALTIME.eventsPerSecond;
  #atMs: number;

  constructor(nowMs: number) {
    this.#atMs = nowMs;
  }

  /** Counts an event. @returns how long not to read on, in milliseconds */
  count(audioSeconds: number, nowMs: number): number {
    const { factor, periodMs } = REALTIME.audioPace;
    const seconds = Math.max(nowMs - this.#atMs, 0) / 1000;
    this.#atMs = nowMs;
    this.#audioSeconds = Math.min(this.#audioSeconds + seconds * factor, (factor * periodMs) / 1000) - audioSeconds;
    this.#events = Math.min(this.#events + seconds * REALTIME.eventsPerSecond, REALTIME.eventsPerSecond) - 1;
    return Math.max(-this.#audioSeconds / factor, -this.#events / REALTIME.eventsPerSecond, 0) * 1000;
  }
}
