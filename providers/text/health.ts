/**
 * When a part of an upstream that keeps failing is left alone for a while. It is told the time, and nothing else moves it.
 *
 * A rest ends with one trial, which the others wait for while they have somebody else to ask. Rests in a row double. What
 * began before a rest says nothing about its end.
 */
import type { UpstreamFault } from '../../text/upstream-errors.ts';

/** `due`: a rest is over, and the next request is the one that finds out. */
export type Standing = 'ready' | 'due' | 'resting';

export interface Rest {
  readonly cause: UpstreamFault;
  readonly sinceMs: number;
  readonly untilMs: number;
}

/** One request, as its outcome will be told. */
export interface Trial {
  /** How many rests there had been when it began. */
  readonly restsBefore: number;
  /** Whether its answer began. */
  hasBegun: boolean;
}

export const LONGEST_REST_MS = 2 * 60_000;
/** Upstreams that ask for a longer one are tried again all the same: some count in other units than seconds. */
export const LONGEST_ASKED_REST_MS = 60 * 60_000;
export const FAILURES_IN_A_ROW = 5;
/** A trial without an outcome keeps others back for no longer. */
export const TRIAL_PATIENCE_MS = 30_000;

interface Rule {
  /** Whether one failure says it all; others count. */
  readonly atOnce: boolean;
  readonly firstRestMs: number;
}

const COUNTED: Rule = { atOnce: false, firstRestMs: 10_000 };
const AT_ONCE: Rule = { atOnce: true, firstRestMs: 10_000 };

const RULES: Readonly<Record<UpstreamFault, Rule>> = {
  unreachable: COUNTED,
  key_refused: AT_ONCE,
  access_refused: AT_ONCE,
  model_unknown: AT_ONCE,
  rate_limited: { atOnce: true, firstRestMs: 5_000 },
  failed: COUNTED,
  silent: COUNTED,
};

export class Health {
  /** From 0 to 1: rests are up to a fifth shorter by it, so that processes do not come back together. */
  readonly #random: () => number;
  #rest: Rest | null = null;
  #restCount = 0;
  /** Rests since the last whole answer. */
  #restsInRow = 0;
  /** Of attempts that came to no answer, since one began. */
  #failuresInRow = 0;
  /** Of answers that broke off, since one was whole. */
  #breaksInRow = 0;
  #trial: { readonly of: Trial; readonly sinceMs: number } | null = null;
  #recent = new RecentOutcomes();

  constructor(random: () => number) {
    this.#random = random;
  }

  /** The rest that is under way, or whose end is still to be tried. */
  get rest(): Rest | null {
    return this.#rest;
  }

  standing(nowMs: number): Standing {
    if (this.#rest === null) return 'ready';
    if (nowMs < this.#rest.untilMs) return 'resting';
    const isTried = this.#trial !== null && nowMs - this.#trial.sinceMs < TRIAL_PATIENCE_MS;
    return isTried ? 'resting' : 'due';
  }

  /** Begins a request; it is the one that finds out where that is due. */
  start(nowMs: number): Trial {
    const trial: Trial = { restsBefore: this.#restCount, hasBegun: false };
    if (this.standing(nowMs) === 'due') this.#trial = { of: trial, sinceMs: nowMs };
    return trial;
  }

  /** Its answer has begun, or it showed otherwise that this part works. */
  begun(trial: Trial): void {
    trial.hasBegun = true;
    if (this.#isOld(trial)) return;
    this.#failuresInRow = 0;
    this.#wake();
  }

  /** Its answer was whole. */
  ended(trial: Trial, nowMs: number): void {
    this.#recent.note('good', nowMs);
    if (this.#isOld(trial)) return;
    this.#failuresInRow = 0;
    this.#breaksInRow = 0;
    this.#restsInRow = 0;
    this.#wake();
  }

  /** @param askedRestMs for how long the upstream asked to be left alone; null where it did not */
  failed(trial: Trial, fault: UpstreamFault, nowMs: number, askedRestMs: number | null): void {
    const wasTrial = this.#trial?.of === trial;
    this.released(trial);
    this.#recent.note('bad', nowMs);
    if (askedRestMs !== null) return this.#restFor(fault, nowMs, Math.min(askedRestMs, LONGEST_ASKED_REST_MS));
    if (this.#isOld(trial)) return;
    if (this.#rest !== null) {
      // Any other was sent here although it rests, for want of somebody else.
      if (wasTrial) this.#restLonger(fault, nowMs);
      return;
    }
    const inRow = trial.hasBegun ? (this.#breaksInRow += 1) : (this.#failuresInRow += 1);
    const isTooMuch = RULES[fault].atOnce || inRow >= FAILURES_IN_A_ROW || this.#recent.areBad(nowMs);
    if (isTooMuch) this.#restLonger(fault, nowMs);
  }

  /** It came to an end that says nothing. */
  released(trial: Trial): void {
    if (this.#trial?.of === trial) this.#trial = null;
  }

  /** Forgets everything: somebody has seen to it. */
  reset(): void {
    this.#wake();
    this.#restCount += 1;
    this.#restsInRow = 0;
    this.#failuresInRow = 0;
    this.#breaksInRow = 0;
    this.#recent = new RecentOutcomes();
  }

  #isOld({ restsBefore }: Trial): boolean {
    return restsBefore < this.#restCount;
  }

  #wake(): void {
    this.#rest = null;
    this.#trial = null;
  }

  #restLonger(fault: UpstreamFault, nowMs: number): void {
    const restMs = Math.min(RULES[fault].firstRestMs * 2 ** this.#restsInRow, LONGEST_REST_MS);
    this.#restsInRow += 1;
    this.#restFor(fault, nowMs, restMs * (1 - this.#random() / 5));
  }

  /** A rest is never cut short by another. */
  #restFor(cause: UpstreamFault, nowMs: number, restMs: number): void {
    const isNew = this.#rest === null || this.#rest.untilMs <= nowMs;
    const untilMs = nowMs + restMs;
    if (!isNew && this.#rest !== null && this.#rest.untilMs >= untilMs) return;
    this.#rest = { cause, sinceMs: this.#rest?.sinceMs ?? nowMs, untilMs };
    if (!isNew) return;
    this.#restCount += 1;
    this.#trial = null;
    this.#failuresInRow = 0;
    this.#recent = new RecentOutcomes();
  }
}

const SLOT_MS = 10_000;
const SLOTS = 6;
const LEAST_OUTCOMES = 10;

/** The outcomes of the last minute, by tens of seconds. */
class RecentOutcomes {
  readonly #slots = Array.from({ length: SLOTS }, () => ({ number: -1, good: 0, bad: 0 }));

  note(outcome: 'good' | 'bad', nowMs: number): void {
    const number = Math.floor(nowMs / SLOT_MS);
    const slot = this.#slots[number % SLOTS];
    if (slot === undefined) return;
    if (slot.number !== number) Object.assign(slot, { number, good: 0, bad: 0 });
    slot[outcome] += 1;
  }

  /** Whether more than half of them are bad, where there are enough to tell. */
  areBad(nowMs: number): boolean {
    const oldest = Math.floor(nowMs / SLOT_MS) - SLOTS;
    let [good, bad] = [0, 0];
    for (const slot of this.#slots) {
      if (slot.number <= oldest) continue;
      good += slot.good;
      bad += slot.bad;
    }
    return good + bad >= LEAST_OUTCOMES && bad > good;
  }
}
