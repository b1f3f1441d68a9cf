/** Computes the health of media upstreams from the outcomes of their latest submissions. */
import { firstIdAt } from '../../domain/ids.ts';
import {
  MEDIA_FAULTS,
  type MediaHealth,
  mediaHealthOf,
  type MediaOutcome,
  type MediaVerdict,
} from '../../domain/media-health.ts';
import type { Submission } from '../../domain/media-route.ts';
import type { Database } from '../database.ts';
import type { RowOf } from '../row.ts';
import type { UpstreamOverride } from './upstream-overrides.ts';

/** The health of one model at one upstream. */
export interface ModelHealth extends MediaHealth {
  readonly provider: string;
  /** The upstream's name for the model. */
  readonly model: string;
}

type OutcomeRow = RowOf<Pick<Submission, 'provider' | 'model' | 'submittedAt' | 'settledAt' | 'outcome' | 'code'>>;

/** Submissions of older tasks are ignored. */
const OUTCOMES_OF_MS = 15 * 60_000;
/** The number of submissions per route: enough to decide about openings, and for submissions that came at once. */
const LATEST = 40;

/**
 * Lists the health of every upstream and model with recent submissions.
 *
 * @param overrides the operators' overrides; putting an upstream back into service clears its record
 */
export async function listMediaHealth(
  database: Database,
  nowMs: number,
  overrides: readonly UpstreamOverride[],
): Promise<readonly ModelHealth[]> {
  const since = nowMs - OUTCOMES_OF_MS;
  const { rows } = await database.raw<{ rows: OutcomeRow[] }>(
    /* sql */ `
    SELECT * FROM (
      SELECT provider, model, submitted_at, settled_at, outcome, code,
        row_number() OVER (PARTITION BY provider, model ORDER BY coalesce(settled_at, submitted_at) DESC) AS place
      FROM submissions WHERE task_id >= :firstId AND task_created_at >= :since
    ) AS latest WHERE place <= :latest`,
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
    const resumed = overrides.find(({ upstream, until }) => upstream === first.provider && until === null);
    const resumedAtMs = resumed?.createdAt.getTime() ?? 0;
    const outcomes = ofRoute.map(toOutcome).filter(({ submittedAtMs }) => submittedAtMs >= resumedAtMs);
    return { ...mediaHealthOf(outcomes, nowMs), provider: first.provider, model: first.model };
  });
}

function toOutcome(row: OutcomeRow): MediaOutcome {
  return {
    submittedAtMs: row.submitted_at.getTime(),
    settledAtMs: row.settled_at?.getTime() ?? null,
    verdict: verdictOf(row),
  };
}

function verdictOf({ outcome, code }: OutcomeRow): MediaVerdict {
  switch (outcome) {
    case null:
      return null;
    case 'accepted':
    case 'refused':
      return 'well';
    case 'unknown':
      return 'failed';
    case 'not_taken':
  }
  // Without a code, the upstream gave no valid response, and turned out to have no job.
  if (code === null) return 'failed';
  return MEDIA_FAULTS.find((fault) => fault === code) ?? 'busy';
}
