/** Computes the circuits of media upstreams from the outcomes of their latest submissions and renders. */
import { type CallOutcome, type Circuit, circuitAfter, newCircuit, type PastCall } from '../../domain/circuit.ts';
import { firstIdAt } from '../../domain/ids.ts';
import { MEDIA_FAULTS, type Submission } from '../../domain/media-route.ts';
import { isFailureOfUpstream, type TaskFailure } from '../../domain/task.ts';
import { overrideOf } from '../../domain/upstream-override.ts';
import type { Database } from '../database.ts';
import type { RowOf } from '../row.ts';
import type { UpstreamOverride } from './upstream-overrides.ts';

/** The circuit of one model at one upstream. */
export interface ModelCircuit {
  readonly provider: string;
  /** The upstream's name for the model. */
  readonly model: string;
  readonly circuit: Circuit;
}

type OutcomeRow = RowOf<Pick<Submission, 'provider' | 'model' | 'submittedAt' | 'settledAt' | 'outcome' | 'code'>> & {
  /** The end of the task whose submission was accepted; null before. */
  readonly completed_at: Date | null;
  readonly error_code: TaskFailure['code'] | null;
  readonly cancelled_by: string | null;
};

/** Submissions of older tasks are ignored. */
const WINDOW_MS = 15 * 60_000;
/** The number of submissions and of renders per route: enough to decide about openings, and for those that came at once. */
const LATEST = 40;

/**
 * Lists the circuit of every upstream and model with recent submissions. All processes read the same submissions, and
 * so reach the same result.
 *
 * @param overrides the operators' overrides; putting an upstream back into service clears its record
 */
export async function listMediaCircuits(
  database: Database,
  nowMs: number,
  overrides: readonly UpstreamOverride[],
): Promise<readonly ModelCircuit[]> {
  const since = nowMs - WINDOW_MS;
  const { rows } = await database.raw<{ rows: OutcomeRow[] }>(
    /* sql */ `
    SELECT * FROM (
      SELECT submissions.provider, submissions.model, submitted_at, settled_at, outcome, code,
        completed_at, error_code, cancelled_by,
        row_number() OVER (PARTITION BY submissions.provider, submissions.model
          ORDER BY coalesce(settled_at, submitted_at) DESC) AS place,
        row_number() OVER (PARTITION BY submissions.provider, submissions.model
          ORDER BY completed_at DESC NULLS LAST) AS render_place
      FROM submissions
      LEFT JOIN tasks ON outcome = 'accepted' AND tasks.id = task_id AND tasks.created_at = task_created_at
        AND tasks.id >= :firstId AND tasks.created_at >= :since
      WHERE task_id >= :firstId AND task_created_at >= :since
    ) AS latest WHERE place <= :latest OR (render_place <= :latest AND completed_at IS NOT NULL)`,
    { firstId: firstIdAt('task', since), since: new Date(since), latest: LATEST },
  );
  const byRoute = new Map<string, OutcomeRow[]>();
  for (const row of rows) {
    const route = JSON.stringify([row.provider, row.model]);
    byRoute.set(route, [...(byRoute.get(route) ?? []), row]);
  }
  return [...byRoute.values()].flatMap((ofRoute) => {
    const [first] = ofRoute;
    if (!first) return [];
    const { provider, model } = first;
    const override = overrideOf(overrides, provider, model);
    const resumedAt = override?.until === null ? override.createdAt : undefined;
    const unused = newCircuit(WINDOW_MS, resumedAt?.getTime());
    return { provider, model, circuit: circuitAfter(ofRoute.map(toCall), unused) };
  });
}

const CERTAIN = { requestedWaitMs: null, account: null, random: 0 } as const;

function toCall(row: OutcomeRow): PastCall {
  return {
    startedAtMs: row.submitted_at.getTime(),
    outcomes: [
      ...(row.settled_at === null ? [] : [{ outcome: outcomeOf(row), atMs: row.settled_at.getTime() }]),
      ...(row.completed_at === null ? [] : [{ outcome: renderOutcomeOf(row), atMs: row.completed_at.getTime() }]),
    ],
  };
}

function outcomeOf({ outcome, code }: OutcomeRow): CallOutcome {
  switch (outcome) {
    case 'accepted':
    case 'refused':
      return 'started';
    case null:
      return 'unclear';
    case 'unknown':
    case 'not_taken':
  }
  // Without a code, the upstream gave no valid response, and turned out to have no job.
  const fault = code === null || outcome === 'unknown' ? 'failed' : MEDIA_FAULTS.find((one) => one === code);
  return fault === undefined ? 'unclear' : { ...CERTAIN, fault, hadStarted: false };
}

/** An upstream that accepts jobs and then fails them is as useless as one that accepts none. */
function renderOutcomeOf({ error_code: code, cancelled_by: cancelledBy }: OutcomeRow): CallOutcome {
  if (code === null) return 'completed';
  return cancelledBy === null && isFailureOfUpstream({ code })
    ? { ...CERTAIN, fault: 'failed', hadStarted: true }
    : 'unclear';
}
