/** Accounts that want to hear that their balance is low: contract 6. */
import { newId } from '../../domain/ids.ts';
import type { PicoUsd } from '../../domain/money.ts';
import { LOW_BALANCE_EVENT, renderLowBalanceEvent } from '../../domain/webhook-event.ts';
import type { Database } from '../database.ts';
import { readRow, type RowOf } from '../row.ts';
import { type Account, BALANCES } from './accounts.ts';
import { insertEvent } from './events.ts';

/** Below the threshold, and not announced since the balance was last above it. */
const IS_NEWLY_LOW = /* sql */ `low_balance IS NOT NULL AND low_balance_since IS NULL
  AND signup_available + signup_reserved + funded_available + funded_reserved < low_balance`;

/** @param threshold null to hear nothing any more; a balance that is below it already is announced, too */
export async function setLowBalance(database: Database, accountId: string, threshold: PicoUsd | null): Promise<void> {
  await database('accounts')
    .where({ id: accountId })
    .update({ low_balance: threshold?.toString() ?? null, low_balance_since: null });
}

/**
 * Writes an event, and its deliveries, for each account whose balance fell below its threshold: once for each time it did,
 * in whatever process.
 *
 * @param limit the most accounts
 * @returns how many were looked at; fewer than `limit` when none is left
 */
export async function announceLowBalances(database: Database, limit: number): Promise<number> {
  const low = await database('accounts').whereRaw(IS_NEWLY_LOW).limit(limit).select<{ id: string }[]>('id');
  for (const { id } of low) await database.transaction((transaction) => announce(transaction, id));
  return low.length;
}

async function announce(transaction: Database, accountId: string): Promise<void> {
  const [account] = await transaction('accounts')
    .where({ id: accountId })
    // Again, under the lock: another process may have announced it, or a credit come in between.
    .whereRaw(IS_NEWLY_LOW)
    .update({ low_balance_since: transaction.raw('clock_timestamp()') })
    .returning<(RowOf<Account> & { low_balance: string; low_balance_since: Date })[]>('*');
  if (!account) return;
  const id = newId('event');
  const {
    signupAvailable,
    signupReserved,
    fundedAvailable,
    fundedReserved,
    lowBalance,
    lowBalanceSince: at,
  } = readRow(account, BALANCES);
  const balance = {
    accountId,
    available: signupAvailable + fundedAvailable,
    reserved: signupReserved + fundedReserved,
    lowBalance,
  };
  const payload = renderLowBalanceEvent({ id, at, balance });
  await insertEvent(transaction, { id, accountId, type: LOW_BALANCE_EVENT, taskId: null, payload, at });
}
