/**
 * The health of the media upstreams' models, from what became of the latest submissions. All processes read the same
 * submissions, and so come to the same conclusion.
 *
 * An open circuit is a preference: tasks take another route if there is one. When the opening has passed, one submission
 * probes the upstream, and the others keep to their other route; {@link openDurationMs} says how long an opening lasts. A
 * refusal for load is no fault: the task waits or takes its next route.
 */
import { openDurationMs } from './circuit.ts';

/** How an upstream can fail to take a job. */
export const MEDIA_FAULTS = ['unreachable', 'access_refused', 'failed'] as const;
export type MediaFault = (typeof MEDIA_FAULTS)[number];

/** Why an upstream did not take a job; `busy` for too many requests or jobs at once, which is no fault. */
export type NotTakenCause = MediaFault | 'busy';

/** The conclusion from a submission about its upstream: a fault, too much load, or health; null for none. */
export type MediaVerdict = NotTakenCause | 'well' | null;

export interface MediaOutcome {
  readonly submittedAtMs: number;
  /** Null while the outcome is not known. */
  readonly settledAtMs: number | null;
  readonly verdict: MediaVerdict;
}

export interface MediaRest {
  readonly cause: MediaFault;
  readonly sinceMs: number;
  readonly untilMs: number;
}

/** `due`: the rest is over, and the next submission is the trial. `tried`: the trial is under way. */
export type MediaStanding = 'ready' | 'resting' | 'due' | 'tried';

export interface MediaHealth {
  readonly standing: MediaStanding;
  /** The current rest, or the one whose end is still to be tried. */
  readonly rest: MediaRest | null;
}

const FIRST_REST_MS = 10_000;
const FAILURES_IN_A_ROW = 5;
/** Our key, our money or the model is missing, which no second submission changes. */
const AT_ONCE: ReadonlySet<MediaFault> = new Set(['access_refused']);
/** A trial without an outcome blocks others for no longer than this. */
const TRIAL_PATIENCE_MS = 60_000;

/** @param outcomes of the submissions of one model to one upstream, in any order */
export function mediaHealthOf(outcomes: readonly MediaOutcome[], nowMs: number): MediaHealth {
  const rest = restAfter(outcomes);
  if (rest === null) return { standing: 'ready', rest };
  if (nowMs < rest.untilMs) return { standing: 'resting', rest };
  const isTried = outcomes.some(
    ({ submittedAtMs, settledAtMs }) =>
      settledAtMs === null && submittedAtMs >= rest.untilMs && nowMs - submittedAtMs < TRIAL_PATIENCE_MS,
  );
  return { standing: isTried ? 'tried' : 'due', rest };
}

interface Record {
  readonly rest: MediaRest | null;
  readonly failuresInRow: number;
  readonly restsInRow: number;
}

const CLEAN: Record = { rest: null, failuresInRow: 0, restsInRow: 0 };

function restAfter(outcomes: readonly MediaOutcome[]): MediaRest | null {
  return inOrder(outcomes).reduce(noteOutcome, CLEAN).rest;
}

function noteOutcome(record: Record, { submittedAtMs, settledAtMs, verdict }: SettledOutcome): Record {
  const { rest, restsInRow } = record;
  if (verdict === null || verdict === 'busy') return record;
  // A submission from before an opening shows nothing about its end, and a fault during an opening only confirms it.
  if (rest !== null && submittedAtMs < (verdict === 'well' ? rest.sinceMs : rest.untilMs)) return record;
  if (verdict === 'well') return CLEAN;
  const failuresInRow = record.failuresInRow + 1;
  const isTooMuch = rest !== null || AT_ONCE.has(verdict) || failuresInRow >= FAILURES_IN_A_ROW;
  if (!isTooMuch) return { ...record, failuresInRow };
  const restMs = openDurationMs(FIRST_REST_MS, restsInRow);
  return {
    rest: { cause: verdict, sinceMs: rest?.sinceMs ?? settledAtMs, untilMs: settledAtMs + restMs },
    failuresInRow,
    restsInRow: restsInRow + 1,
  };
}

type SettledOutcome = MediaOutcome & { readonly settledAtMs: number };

/** The submissions that have an outcome, in the order of their outcomes. */
function inOrder(outcomes: readonly MediaOutcome[]): readonly SettledOutcome[] {
  return outcomes
    .flatMap((outcome) => (outcome.settledAtMs === null ? [] : [{ ...outcome, settledAtMs: outcome.settledAtMs }]))
    .toSorted((a, b) => a.settledAtMs - b.settledAtMs);
}
