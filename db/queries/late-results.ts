/** Results of renders that ended after the refund of their tasks: see `db/schema/0004-tasks.sql`. */
import { newId } from '../../domain/ids.ts';
import type { GeneratedMedia } from '../../domain/task.ts';
import type { LateResult } from '../../domain/task-object.ts';
import { LATE_EVENT, LATE_RESULT_EVENT, renderEvent } from '../../domain/webhook-event.ts';
import type { Database } from '../database.ts';
import { camelCased, type RowOf } from '../row.ts';
import { isDueTask } from './content.ts';
import { insertEvent } from './events.ts';
import { orderNotice } from './mails.ts';

/** A late result with its files. */
export interface StoredLateResult extends LateResult {
  readonly output: readonly GeneratedMedia[];
}

/** How long a customer can claim a late result. */
const KEPT_HOURS = 24;

/** Far longer than a claim takes, since a claim may start just before the result expires. */
const CLAIMS_END_HOURS = 1;

/** Stores and announces the files of a refunded task, unless its content was erased. A second call changes nothing. */
export async function storeLateResult(
  database: Database,
  { taskId, accountId, output }: Pick<StoredLateResult, 'taskId' | 'output'> & { readonly accountId: string },
): Promise<void> {
  await database.transaction(async (transaction) => {
    const { rows } = await transaction.raw<{ rows: (RowOf<StoredLateResult> & { readonly created_at: Date })[] }>(
      /* sql */ `
      INSERT INTO late_results (task_id, account_id, output, expires_at)
      SELECT :taskId, :accountId, CAST(:output AS jsonb), now() + interval '${KEPT_HOURS} hours'
      FROM tasks JOIN accounts AS owner ON owner.id = tasks.account_id
      WHERE tasks.id = :taskId AND tasks.created_at = id_created_at(:taskId) AND erased_at IS NULL
        AND NOT ${isDueTask('tasks.id')}
      ON CONFLICT (task_id) DO NOTHING RETURNING *`,
      { taskId, accountId, output: JSON.stringify(output) },
    );
    const [kept] = rows;
    if (!kept) return;
    const [id, at] = [newId('event'), kept.created_at];
    const payload = renderEvent(LATE_EVENT, { id, at, lateResult: camelCased(kept) });
    await insertEvent(transaction, { id, accountId, type: LATE_RESULT_EVENT, taskId, payload, at });
    await orderNotice(transaction, {
      kind: 'late_result',
      accountId,
      reference: `late_result:${taskId}`,
      facts: { task: taskId, until: kept.expires_at.toISOString() },
    });
  });
}

/**
 * Withdraws the unclaimed late results of tasks whose content is erased, so that nobody can claim them.
 *
 * @returns the links to their files
 */
export async function withdrawLateResults(database: Database, taskIds: readonly string[]): Promise<readonly string[]> {
  // A claim in progress compares `expires_at` with the time at which the claim started.
  const { rows } = await database.raw<{ rows: Pick<StoredLateResult, 'output'>[] }>(
    `UPDATE late_results SET expires_at = least(expires_at, now() - interval '${CLAIMS_END_HOURS} hours')
    WHERE task_id = ANY (:taskIds) AND claimed_task_id IS NULL RETURNING output`,
    { taskIds },
  );
  return rows.flatMap(({ output }) => output.map(({ url }) => url));
}

/** Finds the late result of a task that the account can claim or has claimed; null if there is none. */
export async function findLateResult(
  database: Database,
  { accountId, taskId }: { readonly accountId: string; readonly taskId: string },
): Promise<StoredLateResult | null> {
  const row = await lateResults(database, accountId, taskId).first();
  return row ? camelCased(row) : null;
}

/** Like {@link findLateResult}, but locks the result against claims and removal until the transaction ends. */
export async function lockLateResult(
  transaction: Database,
  { accountId, taskId }: { readonly accountId: string; readonly taskId: string },
): Promise<StoredLateResult | null> {
  const row = await lateResults(transaction, accountId, taskId).forUpdate().first();
  return row ? camelCased(row) : null;
}

export async function markLateResultClaimed(
  transaction: Database,
  taskId: string,
  claimedTaskId: string,
): Promise<void> {
  await transaction('late_results').where({ task_id: taskId }).update({ claimed_task_id: claimedTaskId });
}

/** Finds expired late results that nobody has claimed, oldest first. */
export async function findExpiredLateResults(
  database: Database,
  limit: number,
): Promise<readonly Pick<StoredLateResult, 'taskId' | 'output'>[]> {
  const rows = await database<RowOf<StoredLateResult>>('late_results')
    .whereNull('claimed_task_id')
    .whereRaw(`expires_at < now() - interval '${CLAIMS_END_HOURS} hours'`)
    .orderBy('expires_at')
    .limit(limit)
    .select('task_id', 'output');
  return rows.map(camelCased);
}

export async function deleteLateResults(database: Database, taskIds: readonly string[]): Promise<void> {
  await database('late_results').whereIn('task_id', taskIds).delete();
}

/** Includes claimed results, and excludes expired ones and those of erased content. */
function lateResults(database: Database, accountId: string, taskId: string) {
  return database<RowOf<StoredLateResult> & { readonly account_id: string }>('late_results')
    .where({ account_id: accountId, task_id: taskId })
    .whereRaw(
      `(claimed_task_id IS NOT NULL OR expires_at > now() AND NOT EXISTS (
        SELECT FROM accounts AS owner WHERE owner.id = account_id AND ${isDueTask('task_id')}))`,
    );
}
