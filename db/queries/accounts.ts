import type { PicoUsd } from '../../domain/money.ts';
import { type Database, picoUsd } from '../database.ts';
import { CHANGE, CHARGES } from '../ledger-sql.ts';

export interface Account {
  readonly id: string;
  readonly name: string;
  readonly signupAvailable: PicoUsd;
  readonly signupReserved: PicoUsd;
  readonly fundedAvailable: PicoUsd;
  readonly fundedReserved: PicoUsd;
  /** The first top-up; null for an account with signup credit only. */
  readonly toppedUpAt: Date | null;
  readonly maxConcurrentTasks: number | null;
  readonly createdAt: Date;
}

/** Sums of all transfers of an account. */
export interface AccountTotals {
  readonly toppedUp: PicoUsd;
  readonly signupGranted: PicoUsd;
  readonly charged: PicoUsd;
  readonly refunded: PicoUsd;
  readonly adjusted: PicoUsd;
}

interface AccountRow {
  id: string;
  name: string;
  signup_available: string;
  signup_reserved: string;
  funded_available: string;
  funded_reserved: string;
  topped_up_at: Date | null;
  max_concurrent_tasks: number | null;
  created_at: Date;
}

/** Creates an account without credit. */
export async function insertAccount(database: Database, account: { id: string; name: string }): Promise<void> {
  await database('accounts').insert({ id: account.id, name: account.name });
}

export async function findAccount(database: Database, accountId: string): Promise<Account | null> {
  const row = await database<AccountRow>('accounts').where({ id: accountId }).first();
  return row ? toAccount(row) : null;
}

/** Whether an account has available credit. */
export async function hasCredit(database: Database, accountId: string): Promise<boolean> {
  const account = await findAccount(database, accountId);
  return account !== null && account.signupAvailable + account.fundedAvailable > 0n;
}

export async function sumAccountTotals(database: Database, accountId: string): Promise<AccountTotals> {
  const { rows } = await database.raw<{ rows: Record<keyof AccountTotals, string>[] }>(
    /* sql */ `
    SELECT coalesce(sum(amount) FILTER (WHERE kind = 'topup'), 0) AS "toppedUp",
      coalesce(sum(amount) FILTER (WHERE kind = 'signup_grant'), 0) AS "signupGranted",
      coalesce(sum(amount) FILTER (WHERE kind IN ${CHARGES}), 0) AS "charged",
      coalesce(sum(amount) FILTER (WHERE kind = 'refund'), 0) AS "refunded",
      coalesce(sum(${CHANGE.available}) FILTER (WHERE kind = 'adjustment'), 0)
        AS "adjusted"
    FROM transfers WHERE account_id = ?`,
    [accountId],
  );
  const sums = rows[0];
  if (!sums) throw new Error('an aggregate always gives one row');
  return {
    toppedUp: picoUsd(sums.toppedUp),
    signupGranted: picoUsd(sums.signupGranted),
    charged: picoUsd(sums.charged),
    refunded: picoUsd(sums.refunded),
    adjusted: picoUsd(sums.adjusted),
  };
}

function toAccount(row: AccountRow): Account {
  return {
    id: row.id,
    name: row.name,
    signupAvailable: picoUsd(row.signup_available),
    signupReserved: picoUsd(row.signup_reserved),
    fundedAvailable: picoUsd(row.funded_available),
    fundedReserved: picoUsd(row.funded_reserved),
    toppedUpAt: row.topped_up_at,
    maxConcurrentTasks: row.max_concurrent_tasks,
    createdAt: row.created_at,
  };
}
