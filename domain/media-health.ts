/**
 * The health of each model of a media upstream, computed from the outcomes of the latest submissions. All processes
 * read the same submissions, and so reach the same result.
 *
 * An open circuit is a preference: tasks take another route if there is one. When the opening has passed, one
 * submission probes the upstream, and the others keep to their other route; {@link openDurationMs} computes how long an
 * opening lasts. A refusal for load is no fault: the task waits or takes its next route.
 */
import { type CircuitState, circuitState, openDurationMs, type Opening } from './circuit.ts';

/** The faults for which an upstream does not accept a job. */
export const MEDIA_FAULTS = ['unreachable', 'access_refused', 'failed'] as const;
export type MediaFault = (typeof MEDIA_FAULTS)[number];

/** Why an upstream did not accept a job. `busy` means too many requests or jobs at once, which is no fault. */
export type NotTakenCause = MediaFault | 'busy';

/** What a submission shows about its upstream: a fault, too much load, or health; null if it shows nothing. */
export type MediaVerdict = NotTakenCause | 'well' | null;

export interface MediaOutcome {
  readonly submittedAtMs: number;
  /** Null while the outcome is unknown. */
  readonly settledAtMs: number | null;
  readonly verdict: MediaVerdict;
}

export interface MediaHealth {
  readonly state: CircuitState;
  /** The current opening, or the last one until a probe succeeds. */
  readonly opening: Opening<MediaFault> | null;
}

const FIRST_OPEN_MS = 10_000;
const FAILURES_IN_A_ROW = 5;
/** Faults that open the circuit at once: our key, our money or the model is missing, so a retry fails too. */
const IMMEDIATE_FAULTS: ReadonlySet<MediaFault> = new Set(['access_refused']);
/** A probe without an outcome blocks other probes for no longer than this. */
const MAX_PROBE_MS = 60_000;

/** @param outcomes of the submissions of one model to one upstream, in any order */
export function mediaHealthOf(outcomes: readonly MediaOutcome[], nowMs: number): MediaHealth {
  const opening = inOrder(outcomes).reduce(addOutcome, CLEAN).opening;
  const isProbed = ({ untilMs }: Opening<MediaFault>): boolean =>
    outcomes.some(
      ({ submittedAtMs, settledAtMs }) =>
        settledAtMs === null && submittedAtMs >= untilMs && nowMs - submittedAtMs < MAX_PROBE_MS,
    );
  return { state: circuitState(opening, nowMs, isProbed), opening };
}

interface Record {
  readonly opening: Opening<MediaFault> | null;
  readonly failuresInRow: number;
  readonly openingsInRow: number;
}

const CLEAN: Record = { opening: null, failuresInRow: 0, openingsInRow: 0 };

function addOutcome(record: Record, { submittedAtMs, settledAtMs, verdict }: SettledOutcome): Record {
  const { opening, openingsInRow } = record;
  if (verdict === null || verdict === 'busy') return record;
  // A success of an older submission does not end an opening, and a fault during an opening changes nothing.
  if (opening !== null && submittedAtMs < (verdict === 'well' ? opening.sinceMs : opening.untilMs)) return record;
  if (verdict === 'well') return CLEAN;
  const failuresInRow = record.failuresInRow + 1;
  const isTooMuch = opening !== null || IMMEDIATE_FAULTS.has(verdict) || failuresInRow >= FAILURES_IN_A_ROW;
  if (!isTooMuch) return { ...record, failuresInRow };
  const openMs = openDurationMs(FIRST_OPEN_MS, openingsInRow);
  return {
    opening: { cause: verdict, sinceMs: opening?.sinceMs ?? settledAtMs, untilMs: settledAtMs + openMs },
    failuresInRow,
    openingsInRow: openingsInRow + 1,
  };
}

type SettledOutcome = MediaOutcome & { readonly settledAtMs: number };

/** Returns the submissions with an outcome, ordered by the time of the outcome. */
function inOrder(outcomes: readonly MediaOutcome[]): readonly SettledOutcome[] {
  return outcomes
    .flatMap((outcome) => (outcome.settledAtMs === null ? [] : [{ ...outcome, settledAtMs: outcome.settledAtMs }]))
    .toSorted((a, b) => a.settledAtMs - b.settledAtMs);
}
