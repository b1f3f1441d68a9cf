/** What keeps operators and tasks from the state of jobs at media upstreams: see `db/schema/0010-operations.sql`. */
import type { Database } from '../database.ts';
import { camelCased, type RowOf } from '../row.ts';

export interface PollProblem {
  readonly upstream: string;
  /** Genway's name for the model. */
  readonly model: string;
  readonly kind: 'unknown_state' | 'failed_polls';
  /** The upstream's word for the state, or why the latest poll failed. */
  readonly words: string;
}

export async function recordPollProblem(database: Database, found: PollProblem): Promise<void> {
  await database('poll_problems')
    .insert({ ...found, seen_at: database.fn.now() })
    .onConflict(['upstream', 'model', 'kind'])
    .merge();
}

/** Lists unknown states of the last hour, and polls that failed until now. */
export async function listPollProblems(database: Database): Promise<readonly PollProblem[]> {
  const rows = await database<RowOf<PollProblem>>('poll_problems')
    .select('upstream', 'model', 'kind', 'words')
    .whereRaw(`seen_at > now() - CASE kind WHEN 'failed_polls' THEN interval '5 minutes' ELSE interval '1 hour' END`)
    .orderBy(['upstream', 'model', 'kind']);
  return rows.map(camelCased);
}
