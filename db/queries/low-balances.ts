/** Warnings about low balances: contract 6. */
import { newId } from '../../domain/ids.ts';
import { formatDollars, type PicoUsd } from '../../domain/money.ts';
import { BALANCE_EVENT, LOW_BALANCE_EVENT, renderEvent } from '../../domain/webhook-event.ts';
import type { Database } from '../database.ts';
import { BALANCE } from '../ledger-sql.ts';
import { readRow, type RowOf } from '../row.ts';
import { type Account, BALANCES } from './accounts.ts';
import { insertEvent } from './events.ts';
import { orderNotice } from './mails.ts';

/** The balance is below the threshold, and was not announced since it was last above the threshold. */
const IS_NEWLY_LOW = /* sql */ `low_balance IS NOT NULL AND low_balance_since IS NULL
  AND ${BALANCE} < low_balance`;

/** @param threshold null for no warnings; a balance that is already below the threshold is announced */
export async function setLowBalance(database: Database, accountId: string, threshold: PicoUsd | null): Promise<void> {
  await database('accounts')
    .where({ id: accountId })
    .update({ low_balance: threshold?.toString() ?? null, low_balance_since: null });
}

/**
 * Inserts an event with its deliveries for each account whose balance fell below its threshold, once for each fall
 * across all processes.
 *
 * @param limit the most accounts
 * @returns the number of accounts with a low balance; fewer than `limit` if none is left
 */
export async function announceLowBalances(database: Database, limit: number): Promise<number> {
  const low = await database('accounts').whereRaw(IS_NEWLY_LOW).limit(limit).select<{ id: string }[]>('id');
  for (const { id } of low) await database.transaction((transaction) => announce(transaction, id));
  return low.length;
}

async function announce(transaction: Database, accountId: string): Promise<void> {
  const [account] = await transaction('accounts')
    .where({ id: accountId })
    // Checks again under the lock: another process may have announced the balance, or a credit may have arrived.
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
  const payload = renderEvent(BALANCE_EVENT, { id, at, balance });
  await insertEvent(transaction, { id, accountId, type: LOW_BALANCE_EVENT, taskId: null, payload, at });
  await orderNotice(transaction, {
    kind: 'balance_low',
    accountId,
    reference: `balance_low:${id}`,
    facts: {
      account: account.name,
      balance: formatDollars(balance.available + balance.reserved),
      threshold: formatDollars(lowBalance),
    },
  });
}
