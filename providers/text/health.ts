/**
 * The circuit of a part of an upstream: opens when the part keeps failing. Time is an argument, and nothing else changes
 * its state.
 *
 * When an opening has passed, the circuit is half-open: a single request probes the part, and others take another route
 * if they can. {@link openDurationMs} says how long an opening lasts. Requests from before an opening do not end it.
 */
import { openDurationMs } from '../../domain/circuit.ts';
import type { UpstreamFault } from '../../text/upstream-errors.ts';

/** `resting`: the circuit is open, or a probe is under way. `due`: it is half-open, and the next request is the probe. */
export type Standing = 'ready' | 'due' | 'resting';

export interface Rest {
  readonly cause: UpstreamFault;
  readonly sinceMs: number;
  readonly untilMs: number;
}

/** A request whose outcome will be reported. */
export interface Trial {
  /** The number of rests before it began. */
  readonly restsBefore: number;
  /** Whether its answer began. */
  hasBegun: boolean;
}

/** Upstreams that ask for longer are tried again anyway: some use units other than seconds. */
export const LONGEST_ASKED_REST_MS = 60 * 60_000;
export const FAILURES_IN_A_ROW = 5;
/** A probe without an outcome blocks others for no longer than this. */
export const TRIAL_PATIENCE_MS = 30_000;

interface Rule {
  /** Whether a single failure opens the circuit; others are counted. */
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
  /** From 0 to 1: shortens openings by up to a fifth, so that processes do not probe at the same time. */
  readonly #random: () => number;
  #rest: Rest | null = null;
  #restCount = 0;
  /** Rests since the last complete answer. */
  #restsInRow = 0;
  /** Failed attempts since an answer last began. */
  #failuresInRow = 0;
  /** Broken answers since one was last complete. */
  #breaksInRow = 0;
  #trial: { readonly of: Trial; readonly sinceMs: number } | null = null;
  #recent = new RecentOutcomes();

  constructor(random: () => number) {
    this.#random = random;
  }

  /** The current rest, or the one whose end is still to be tried. */
  get rest(): Rest | null {
    return this.#rest;
  }

  standing(nowMs: number): Standing {
    if (this.#rest === null) return 'ready';
    if (nowMs < this.#rest.untilMs) return 'resting';
    const isTried = this.#trial !== null && nowMs - this.#trial.sinceMs < TRIAL_PATIENCE_MS;
    return isTried ? 'resting' : 'due';
  }

  /** Begins a request; it is the trial if one is due. */
  start(nowMs: number): Trial {
    const trial: Trial = { restsBefore: this.#restCount, hasBegun: false };
    if (this.standing(nowMs) === 'due') this.#trial = { of: trial, sinceMs: nowMs };
    return trial;
  }

  /** Reports that the answer has started, or that something else showed that this part works. */
  begun(trial: Trial): void {
    trial.hasBegun = true;
    if (this.#isOld(trial)) return;
    this.#failuresInRow = 0;
    this.#wake();
  }

  /** Reports that the answer was complete. */
  ended(trial: Trial, nowMs: number): void {
    this.#recent.note('good', nowMs);
    if (this.#isOld(trial)) return;
    this.#failuresInRow = 0;
    this.#breaksInRow = 0;
    this.#restsInRow = 0;
    this.#wake();
  }

  /** @param askedRestMs how long the upstream asked to be left alone; null if it did not */
  failed(trial: Trial, fault: UpstreamFault, nowMs: number, askedRestMs: number | null): void {
    const wasTrial = this.#trial?.of === trial;
    this.released(trial);
    if (askedRestMs !== null) return this.#restFor(fault, nowMs, Math.min(askedRestMs, LONGEST_ASKED_REST_MS));
    if (this.#isOld(trial)) return;
    if (this.#rest !== null) {
      // Any other request was sent here while the circuit was open, for lack of an alternative: it proves nothing new.
      if (wasTrial) this.#restLonger(fault, nowMs);
      return;
    }
    this.#recent.note('bad', nowMs);
    const inRow = trial.hasBegun ? (this.#breaksInRow += 1) : (this.#failuresInRow += 1);
    const isTooMuch = RULES[fault].atOnce || inRow >= FAILURES_IN_A_ROW || this.#recent.areBad(nowMs);
    if (isTooMuch) this.#restLonger(fault, nowMs);
  }

  /** Ends a request that showed nothing about the part. */
  released(trial: Trial): void {
    if (this.#trial?.of === trial) this.#trial = null;
  }

  /** Resets everything, on an operator's order. */
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
    const restMs = openDurationMs(RULES[fault].firstRestMs, this.#restsInRow);
    this.#restsInRow += 1;
    this.#restFor(fault, nowMs, restMs * (1 - this.#random() / 5));
  }

  /** A rest never shortens another. */
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

/** The outcomes of the last minute, in steps of ten seconds. */
class RecentOutcomes {
  readonly #slots = Array.from({ length: SLOTS }, () => ({ number: -1, good: 0, bad: 0 }));

  note(outcome: 'good' | 'bad', nowMs: number): void {
    const number = Math.floor(nowMs / SLOT_MS);
    const slot = this.#slots[number % SLOTS];
    if (slot === undefined) return;
    if (slot.number !== number) Object.assign(slot, { number, good: 0, bad: 0 });
    slot[outcome] += 1;
  }

  /** Whether more than half of them are bad, if there are enough to judge. */
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
