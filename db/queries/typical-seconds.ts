import type { TypicalSeconds } from '../../domain/task-object.ts';
import type { Database } from '../database.ts';

const RECENT_TASKS = 200;
const MIN_TASKS = 10;

/**
 * Computes how long the latest successful tasks of a model took in the last day; null if there were too few. A task that
 * claimed a late result has no time to run, and does not count.
 */
export async function findTypicalSeconds(database: Database, model: string): Promise<TypicalSeconds | null> {
  const { rows } = await database.raw<{ rows: { p50: number | null; p90: number | null; samples: string }[] }>(
    /* sql */ `
    SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds) AS p50,
      percentile_cont(0.9) WITHIN GROUP (ORDER BY seconds) AS p90, count(*) AS samples
    FROM (
      SELECT extract(epoch FROM completed_at - created_at)::float8 AS seconds FROM tasks
      WHERE model = :model AND status = 'succeeded' AND completed_at > now() - interval '1 day'
        AND created_at > now() - interval '2 days' AND deadline_at > created_at
      ORDER BY completed_at DESC LIMIT :limit) AS recent`,
    { model, limit: RECENT_TASKS },
  );
  const sample = rows[0];
  if (!sample || Number(sample.samples) < MIN_TASKS || sample.p50 === null || sample.p90 === null) return null;
  return { p50: roundUp(sample.p50), p90: roundUp(sample.p90), samples: Number(sample.samples) };
}

function roundUp(seconds: number): number {
  return Math.max(1, Math.ceil(seconds));
}
