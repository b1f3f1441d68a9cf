/** Recalls the allowances of an account, a key or a budget, so that a change applies in every process at once. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../database.ts';
import { columnsOf } from '../row.ts';
import { isLeaseValid, LEASE_SECONDS } from '../text-lease.ts';

const POLL_MS = 20;
/** After this, every process has answered, or its lease has ended. */
const TIMEOUT_MS = LEASE_SECONDS * 1000 + 1_000;

/** The owner of allowances: an account, or only one of its keys or budgets. */
interface Owner {
  readonly accountId: string;
  readonly apiKeyId?: string;
  readonly budgetId?: string;
}

/**
 * Makes every text process return the owner's allowances, and waits until each process has confirmed or its lease has
 * ended. Call this after the change is committed, so that the next request for money sees the change.
 *
 * @returns whether there were any allowances
 */
export async function recallAllowances(database: Database, owner: Owner): Promise<boolean> {
  const recalled = await database.transaction((transaction) => markRecalled(transaction, owner));
  const until = performance.now() + TIMEOUT_MS;
  while (recalled.length > 0 && performance.now() < until) {
    const { rows } = await database.raw<{ rows: { waits: boolean }[] }>(
      /* sql */ `
      SELECT EXISTS (
        SELECT FROM text_allowances AS allowance JOIN processes ON processes.id = allowance.process_id
        WHERE allowance.id = ANY (:ids) AND (answered_at >= recalled_at) IS NOT TRUE
          AND ${isLeaseValid('clock_timestamp()')}) AS waits`,
      { ids: recalled.map(({ id }) => id) },
    );
    if (rows[0]?.waits !== true) break;
    await sleep(POLL_MS);
  }
  return recalled.length > 0;
}

/**
 * Marks the owner's allowances, which their processes return once the transaction is committed, also if this process
 * dies then.
 *
 * @returns the ids of the allowances
 */
export async function markRecalled(
  transaction: Database,
  { budgetId, ...owner }: Owner,
): Promise<readonly { readonly id: string }[]> {
  await transaction('accounts').where({ id: owner.accountId }).forNoKeyUpdate().select('id');
  return transaction('text_allowances')
    .where(columnsOf(owner))
    .where((rows) => {
      if (budgetId !== undefined) void rows.whereRaw(':budgetId = ANY (budget_ids)', { budgetId });
    })
    .update({ recalled_at: transaction.raw('clock_timestamp()') })
    .returning<{ id: string }[]>('id');
}
