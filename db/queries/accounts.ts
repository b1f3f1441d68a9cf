import type { PicoUsd } from '../../domain/money.ts';
import { type Database, isDatabaseError, onlyRow, UNIQUE_VIOLATION } from '../database.ts';
import { CHANGE, CHARGES } from '../ledger-sql.ts';
import { type IdPage, newestFirst } from '../page.ts';
import { columnsOf, type OptionalFields, readRow, type RowOf } from '../row.ts';
import { markRecalled } from './allowances.ts';
import { containsPattern } from './search.ts';

export interface Account {
  readonly id: string;
  readonly name: string;
  readonly email: string | null;
  /** The customer's id in another system; unique. */
  readonly externalId: string | null;
  readonly signupAvailable: PicoUsd;
  readonly signupReserved: PicoUsd;
  readonly fundedAvailable: PicoUsd;
  readonly fundedReserved: PicoUsd;
  /** What the account owes for payments that returned to their payers. */
  readonly debt: PicoUsd;
  /** The time of the first top-up; null for an account with signup credit only. */
  readonly toppedUpAt: Date | null;
  readonly maxConcurrentTasks: number | null;
  /** Below this balance, Genway sends `account.balance_low`; null for never. */
  readonly lowBalance: PicoUsd | null;
  /** The number of days after which the content of a task is erased; null for never. */
  readonly contentDays: number | null;
  /** How long responses of text models are stored, 0 for never; null for the default. */
  readonly responseMinutes: number | null;
  /** Older content is erased, or will be as soon as it is not in use; null if no erasure was requested. */
  readonly eraseBefore: Date | null;
  /** When the account was suspended, so that none of its keys work; null while it is open. */
  readonly suspendedAt: Date | null;
  /** When its owner closed the account, for ever; null before. A closed account is also suspended. */
  readonly closedAt: Date | null;
  /** The account into which the account was merged; null if it was not. */
  readonly mergedInto: string | null;
  /** The name on receipts and invoices; the account's own name if null. */
  readonly billingName: string | null;
  /** May have several lines. */
  readonly billingAddress: string | null;
  readonly taxId: string | null;
  /** The name of the account's price list; null for the catalogue's prices. */
  readonly priceList: string | null;
  readonly createdAt: Date;
}

/** The fields of an account that operators may change. An absent field does not change. */
export type AccountDetails = OptionalFields<
  Account,
  'name' | 'email' | 'externalId' | 'maxConcurrentTasks' | 'contentDays' | 'responseMinutes' | keyof BillingDetails
>;

/** The billing details on receipts and invoices. The account's owner may also change them. */
export type BillingDetails = Pick<Account, 'billingName' | 'billingAddress' | 'taxId'>;

export interface AccountFilter {
  /** A part of the name, the e-mail address or the external id, or the whole id. */
  readonly search?: string | undefined;
  readonly email?: string | undefined;
  readonly externalId?: string | undefined;
  readonly suspended?: boolean | undefined;
  readonly closed?: boolean | undefined;
  readonly merged?: boolean | undefined;
  /** Closed accounts with funds to repay. */
  readonly repayable?: true | undefined;
}

/** Another account has the external id. */
export class ExternalIdTakenError extends Error {
  override readonly name = 'ExternalIdTakenError';
}

/** Sums of all transfers of an account. */
export interface AccountTotals {
  readonly toppedUp: PicoUsd;
  readonly signupGranted: PicoUsd;
  readonly promoGranted: PicoUsd;
  /** Funds of gift codes. */
  readonly gifted: PicoUsd;
  /** Promo credit that expired unspent. */
  readonly promoExpired: PicoUsd;
  readonly charged: PicoUsd;
  readonly refunded: PicoUsd;
  readonly adjusted: PicoUsd;
  /** Money from merged accounts, without promo credit; negative if the account itself was merged. */
  readonly merged: PicoUsd;
}

type AccountRow = RowOf<Account>;

/** The amounts in a row of an account. */
export const BALANCES = {
  amounts: ['signup_available', 'signup_reserved', 'funded_available', 'funded_reserved', 'debt', 'low_balance'],
} as const;

/** Creates an account without credit. @throws ExternalIdTakenError */
export async function insertAccount(
  database: Database,
  account: AccountDetails & { readonly id: string; readonly name: string },
): Promise<void> {
  await unlessTaken(database('accounts').insert(columnsOf(account)));
}

/** Changes the given fields. @returns null if there is no such account @throws ExternalIdTakenError */
export async function updateAccount(
  database: Database,
  accountId: string,
  details: AccountDetails,
): Promise<Account | null> {
  const columns = columnsOf(details);
  if (Object.keys(columns).length === 0) return findAccount(database, accountId);
  const [row] = await unlessTaken(
    database('accounts').where({ id: accountId }).update(columns).returning<AccountRow[]>('*'),
  );
  return row ? toAccount(row) : null;
}

/** Stops all keys of the account, in every process once the transaction is committed. Keeps the time of an earlier suspension. */
export async function suspendAccount(transaction: Database, accountId: string): Promise<void> {
  await transaction('accounts')
    .where({ id: accountId })
    .update({ suspended_at: transaction.raw('coalesce(suspended_at, now())') });
  await markRecalled(transaction, { accountId });
}

/** Makes the keys of the account work again, except disabled and expired ones. */
export async function reopenAccount(database: Database, accountId: string): Promise<void> {
  await database('accounts').where({ id: accountId }).update({ suspended_at: null });
}

/** Accounts, newest first. @param before the id of the last account of the previous page */
export async function listAccounts(
  database: Database,
  { search, email, externalId, suspended, closed, merged, repayable, ...page }: AccountFilter & IdPage,
): Promise<readonly Account[]> {
  const query = database<AccountRow>('accounts').where(columnsOf({ externalId }));
  if (search !== undefined) {
    const pattern = containsPattern(search);
    void query.whereRaw('(id = :search OR concat_ws(chr(10), name, email, external_id) ILIKE :pattern)', {
      search,
      pattern,
    });
  }
  if (email !== undefined) void query.whereRaw('lower(email) = lower(:email)', { email });
  if (suspended !== undefined) void (suspended ? query.whereNotNull('suspended_at') : query.whereNull('suspended_at'));
  if (closed !== undefined) void (closed ? query.whereNotNull('closed_at') : query.whereNull('closed_at'));
  if (merged !== undefined) void (merged ? query.whereNotNull('merged_into') : query.whereNull('merged_into'));
  if (repayable) void query.whereRaw('closed_at IS NOT NULL AND funded_available + funded_reserved > 0');
  return (await newestFirst(query, page)).map(toAccount);
}

export async function findAccount(database: Database, accountId: string): Promise<Account | null> {
  const row = await database<AccountRow>('accounts').where({ id: accountId }).first();
  return row ? toAccount(row) : null;
}

/** Locks the account until the transaction ends. Every transaction that moves money must lock the account first. */
export async function lockAccount(transaction: Database, accountId: string): Promise<void> {
  await lockAccounts(transaction, [accountId]);
}

/** Locks accounts like {@link lockAccount}, in the order in which batches of transfers lock them. */
export async function lockAccounts(transaction: Database, accountIds: readonly string[]): Promise<void> {
  // A top-up may follow. The creation of a month's tables locks these two tables in the same order.
  await transaction.raw('LOCK TABLE top_ups IN ROW EXCLUSIVE MODE');
  await transaction('accounts').whereIn('id', accountIds).orderBy('id').forNoKeyUpdate().select('id');
}

/** Locks an account, and the accounts into which it and those were merged. */
export async function lockAccountAndMerged(transaction: Database, accountId: string): Promise<void> {
  const { rows } = await transaction.raw<{ rows: { id: string }[] }>(
    /* sql */ `
    WITH RECURSIVE locked AS (
      SELECT id, merged_into FROM accounts WHERE id = :accountId
      UNION SELECT target.id, target.merged_into FROM locked JOIN accounts AS target ON target.id = locked.merged_into)
    SELECT id FROM locked`,
    { accountId },
  );
  await lockAccounts(
    transaction,
    rows.map(({ id }) => id),
  );
}

/** Finds the oldest account; null if there are no accounts. */
export async function findOldestAccount(database: Database): Promise<Account | null> {
  const row = await database<AccountRow>('accounts').orderBy('id').first();
  return row ? toAccount(row) : null;
}

/** Whether an account has available credit. */
export async function hasCredit(database: Database, accountId: string): Promise<boolean> {
  const account = await findAccount(database, accountId);
  return account !== null && account.signupAvailable + account.fundedAvailable > 0n;
}

export async function sumAccountTotals(database: Database, accountId: string): Promise<AccountTotals> {
  const { rows } = await database.raw<{ rows: RowOf<AccountTotals>[] }>(
    /* sql */ `
    SELECT coalesce(sum(amount) FILTER (WHERE kind = 'topup'), 0) AS topped_up,
      coalesce(sum(amount) FILTER (WHERE kind = 'signup_grant'), 0) AS signup_granted,
      coalesce(sum(amount) FILTER (WHERE kind = 'promo_grant'), 0) AS promo_granted,
      coalesce(sum(amount) FILTER (WHERE kind = 'promo_expiry'), 0) AS promo_expired,
      coalesce(sum(amount) FILTER (WHERE kind = 'gift'), 0) AS gifted,
      coalesce(sum(amount) FILTER (WHERE kind IN ${CHARGES}), 0) AS charged,
      coalesce(sum(amount) FILTER (WHERE kind = 'refund'), 0) AS refunded,
      coalesce(sum(${CHANGE.available}) FILTER (WHERE kind = 'adjustment'), 0) AS adjusted,
      coalesce(sum(${CHANGE.available}) FILTER (WHERE kind IN ('merge_out', 'merge_in')), 0) AS merged
    FROM transfers WHERE account_id = :accountId`,
    { accountId },
  );
  return readRow(onlyRow(rows), {
    amounts: [
      'topped_up',
      'signup_granted',
      'promo_granted',
      'promo_expired',
      'gifted',
      'charged',
      'refunded',
      'adjusted',
      'merged',
    ],
  });
}

async function unlessTaken<Result>(change: PromiseLike<Result>): Promise<Result> {
  try {
    return await change;
  } catch (error) {
    if (!isDatabaseError(error, UNIQUE_VIOLATION)) throw error;
    throw new ExternalIdTakenError('the external id is that of another account', { cause: error });
  }
}

function toAccount(row: AccountRow): Account {
  return readRow(row, BALANCES);
}
