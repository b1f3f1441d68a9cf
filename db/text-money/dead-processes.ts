/** Releases the allowances of text processes that ended without returning them. */
import { newId } from '../../domain/ids.ts';
import type { PicoUsd } from '../../domain/money.ts';
import { type Database, picoUsd } from '../database.ts';
import { HEARTBEAT_TIMEOUT_SECONDS } from '../text-lease.ts';
import { connectionName } from './ledger.ts';

/** A process that was silent for so long is dead, or stalled if it still has connections. */
const PROCESS_DEAD_AFTER_SECONDS = 10;
/** A process that was silent for so long is dead, even if its host left a connection open. */
export const STALLED_PROCESS_DEAD_AFTER_SECONDS = 15 * 60;

const MAX_RELEASED = 500;

interface AllowanceRow {
  id: string;
  process_id: string;
  account_id: string;
  api_key_id: string;
  amount: string;
  signup_amount: string;
}

/** The released allowances of dead processes. */
export interface ReleasedAllowances {
  readonly allowances: number;
  /** Includes the lost charges of the last requests that the processes served. */
  readonly amount: PicoUsd;
}

/**
 * Releases allowances of dead processes. A stalled process keeps its allowances, because its upstreams still work:
 * released money could be spent before its charges arrive. If a process comes back later, its charges count as
 * above its holds. The number of its last write stays until a sweep, so that the process can repeat a write whose
 * answer it lost.
 *
 * The money of an open job at a vendor's batch API waits for the job.
 *
 * @param processId the caller. After an outage of all processes, the first process to return would find the others
 *   dead. So a process releases nothing until it has sent heartbeats for as long as others may be silent
 * @returns the released allowances; unless empty, there may be more
 */
export async function releaseDeadAllowances(
  database: Database,
  processId: string,
  deadAfterSeconds = PROCESS_DEAD_AFTER_SECONDS,
): Promise<ReleasedAllowances> {
  return database.transaction(async (transaction) => {
    const { rows: dead } = await transaction.raw<{ rows: { id: string }[] }>(
      /* sql */ `
      SELECT id FROM processes
      WHERE heartbeat_at < now() - make_interval(secs => :dead)
        AND (heartbeat_at < now() - make_interval(secs => :stalled) OR NOT EXISTS (SELECT 1 FROM pg_stat_activity
          WHERE datname = current_database() AND application_name = :prefix || processes.id))
        AND EXISTS (SELECT 1 FROM processes AS own
          WHERE own.id = :processId AND own.heard_since <= now() - make_interval(secs => :dead)
            AND own.heartbeat_at >= now() - make_interval(secs => :heardWithin))
        AND EXISTS (SELECT 1 FROM text_allowances WHERE process_id = processes.id)
        AND NOT EXISTS (SELECT 1 FROM batch_jobs AS job WHERE job.id = processes.id AND job.ended_at IS NULL)
      ORDER BY id FOR UPDATE SKIP LOCKED`,
      {
        dead: deadAfterSeconds,
        stalled: STALLED_PROCESS_DEAD_AFTER_SECONDS,
        prefix: connectionName(''),
        processId,
        heardWithin: HEARTBEAT_TIMEOUT_SECONDS,
      },
    );
    const ids = dead.map(({ id }) => id);
    const { rows: left } = await transaction.raw<{ rows: AllowanceRow[] }>(
      /* sql */ `
      SELECT * FROM text_allowances
      WHERE process_id = ANY (:ids) OR process_id NOT IN (SELECT id FROM processes) LIMIT :limit`,
      { ids, limit: MAX_RELEASED },
    );
    await transaction.raw('SELECT FROM accounts WHERE id = ANY (:ids) ORDER BY id FOR NO KEY UPDATE', {
      ids: left.map(({ account_id }) => account_id),
    });
    const { rows: released } = await transaction.raw<{ rows: AllowanceRow[] }>(
      /* sql */ `
      WITH released AS (DELETE FROM text_allowances WHERE id = ANY (:ids) RETURNING *),
      returned AS (
        UPDATE budgets AS budget SET used = used - sums.amount
        FROM (SELECT budget_id AS id, sum(amount) AS amount FROM released, unnest(budget_ids) AS budget_id GROUP BY 1) AS sums
        WHERE budget.id = sums.id)
      SELECT * FROM released`,
      { ids: left.map(({ id }) => id) },
    );
    if (released.length > 0) await insertReleases(transaction, released);
    return {
      allowances: released.length,
      amount: released.reduce((sum, { amount }) => sum + picoUsd(amount), 0n),
    };
  });
}

async function insertReleases(transaction: Database, released: readonly AllowanceRow[]): Promise<void> {
  const { rows } = await transaction.raw<{ rows: { at: Date }[] }>('SELECT clock_timestamp()::timestamptz(3) AS at');
  const at = rows[0]?.at;
  await transaction('transfers').insert(
    released.map((row) => ({
      id: newId('transfer'),
      opened_at: at,
      created_at: at,
      kind: 'release',
      debit: 'reserved',
      credit: 'available',
      amount: row.amount,
      signup_amount: row.signup_amount,
      account_id: row.account_id,
      api_key_id: row.api_key_id,
      allowance_id: row.id,
      reason: `process ${row.process_id} ended without settling`,
    })),
  );
}

/** Unregisters a process that ends properly. Allowances that it could not return are released as of a dead process. */
export async function removeProcess(database: Database, processId: string): Promise<void> {
  await database('processes').where({ id: processId }).delete();
}
