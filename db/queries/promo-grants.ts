/** Promo credit, which is spent before all other credit and expires at a given time. */
import { newId } from '../../domain/ids.ts';
import type { PicoUsd } from '../../domain/money.ts';
import { type Database, picoUsd } from '../database.ts';
import { type IdPage, newestFirst } from '../page.ts';
import { withPartitions } from '../partitions.ts';
import { lockAccount } from './accounts.ts';
import { insertTransfer } from './transfers.ts';
import { columnsOf, readRow, type RowOf } from '../row.ts';

/** One grant of promo credit. Its four parts add up to `amount`. */
export interface PromoGrant {
  readonly id: string;
  readonly accountId: string;
  readonly reference: string;
  readonly amount: PicoUsd;
  /** The amount that can be spent. */
  readonly available: PicoUsd;
  /** The amount held for tasks and requests in progress. An amount released after `expiresAt` expires at once. */
  readonly reserved: PicoUsd;
  readonly spent: PicoUsd;
  readonly expired: PicoUsd;
  readonly expiresAt: Date;
  readonly author: string;
  readonly reason: string;
  /** Whether the account paid for it, or got it from a topped-up account by a merge: the account counts as topped up. */
  readonly isPaid: boolean;
  readonly createdAt: Date;
}

/** `expiresAt` must be in the future. The reference has 1 to 255 characters, and is unique within the account. */
export type NewPromoGrant = Pick<PromoGrant, 'accountId' | 'amount' | 'expiresAt' | 'reference' | 'author' | 'reason'> &
  Partial<Pick<PromoGrant, 'isPaid'>>;

type PromoGrantRow = RowOf<PromoGrant>;

/**
 * Grants promo credit once per account and reference, even if called several times.
 *
 * @returns the grant for this reference: this one or an earlier one, whose amount and expiry may differ
 * @throws a check violation when `expiresAt` has passed
 */
export async function grantPromoCredit(
  database: Database,
  grant: NewPromoGrant,
): Promise<{ readonly grant: PromoGrant; readonly applied: boolean }> {
  const { accountId, amount, reference } = grant;
  return withPartitions(database, () =>
    database.transaction(async (transaction) => {
      await lockAccount(transaction, accountId);
      const id = newId('promoGrant');
      const [inserted] = await transaction('promo_grants')
        .insert(columnsOf({ id, ...grant }))
        .onConflict(['account_id', 'reference'])
        .ignore()
        .returning<{ created_at: Date }[]>('created_at');
      if (inserted) await move(transaction, 'promo_grant', { id, accountId, amount, at: inserted.created_at });
      const kept = await findPromoGrant(transaction, grant);
      if (!kept) throw new Error(`the grant ${reference} cannot have disappeared`);
      return { grant: kept, applied: inserted !== undefined };
    }),
  );
}

/** All grants of an account, newest first. */
export async function listPromoGrants(
  database: Database,
  { accountId, ...page }: IdPage & { readonly accountId: string },
): Promise<readonly PromoGrant[]> {
  const query = database<PromoGrantRow>('promo_grants').where({ account_id: accountId });
  return (await newestFirst(query, page)).map(toGrant);
}

/** Finds a grant of an account by its reference. */
export async function findPromoGrant(
  database: Database,
  { accountId, reference }: Pick<PromoGrant, 'accountId' | 'reference'>,
): Promise<PromoGrant | null> {
  const row = await database<PromoGrantRow>('promo_grants').where({ account_id: accountId, reference }).first();
  return row ? toGrant(row) : null;
}

/** Finds a grant of any account by its id, for operators. */
export async function findPromoGrantById(database: Database, id: string): Promise<PromoGrant | null> {
  const row = await database<PromoGrantRow>('promo_grants').where({ id }).first();
  return row ? toGrant(row) : null;
}

/** Sums the promo credit in an account's balance, with the time at which the first part expires. */
export async function sumPromoCredit(
  database: Database,
  accountId: string,
): Promise<{ readonly available: PicoUsd; readonly nextExpiry: Date | null }> {
  const [row] = await database('promo_grants')
    .where({ account_id: accountId, is_open: true })
    .where('available', '>', 0)
    .select<{ available: string | null; next_expiry: Date | null }[]>(
      database.raw('sum(available) AS available'),
      database.raw('min(expires_at) AS next_expiry'),
    );
  return { available: picoUsd(row?.available ?? '0'), nextExpiry: row?.next_expiry ?? null };
}

/**
 * Expires the available rest of grants whose time has passed, and of closed accounts: each amount once, across all
 * processes and calls. Holds that are released later expire in a later call.
 *
 * @param limit the most grants
 * @returns the number of grants; fewer than `limit` if none is left
 */
export async function expirePromoCredit(database: Database, limit: number): Promise<number> {
  const { rows: due } = await database.raw<{ rows: { id: string; accountId: string }[] }>(
    /* sql */ `
    (SELECT id, account_id AS "accountId" FROM promo_grants
      WHERE is_open AND available > 0 AND expires_at <= now() ORDER BY expires_at LIMIT :limit)
    UNION
    (SELECT promo.id, account_id FROM accounts JOIN promo_grants AS promo ON account_id = accounts.id
      WHERE closed_at IS NOT NULL AND has_promo AND is_open AND available > 0 LIMIT :limit)
    LIMIT :limit`,
    { limit },
  );
  for (const { id, accountId } of due) {
    await withPartitions(database, () =>
      database.transaction(async (transaction) => {
        await lockAccount(transaction, accountId);
        // The amount read before the lock may have been spent, or expired by another process.
        const [row] = await transaction('promo_grants')
          .where({ id })
          .select<{ available: string; now: Date }[]>('available', transaction.raw('clock_timestamp() AS now'));
        if (!row) throw new Error(`the grant ${id} cannot have disappeared`);
        const amount = picoUsd(row.available);
        if (amount > 0n) await move(transaction, 'promo_expiry', { id, accountId, amount, at: row.now });
      }),
    );
  }
  return due.length;
}

/**
 * Expires a grant now: its available rest at once, and amounts on hold when they are released; and the grants to which
 * merges moved a part of it. Does nothing without the grant.
 *
 * @returns the last transfer that took a rest; null if nothing was left
 */
export function endPromoGrant(
  database: Database,
  { accountId, reference }: Pick<PromoGrant, 'accountId' | 'reference'>,
): Promise<string | null> {
  return withPartitions(database, () =>
    database.transaction(async (transaction) => {
      await lockAccount(transaction, accountId);
      // A grant of this transaction cannot expire when it starts.
      const { rows } = await transaction.raw<{ rows: { id: string; available: string; expires_at: Date }[] }>(
        /* sql */ `
        UPDATE promo_grants SET expires_at = greatest(clock_timestamp(), created_at + interval '1 millisecond')
        WHERE account_id = :accountId AND reference = :reference AND is_open AND expires_at > clock_timestamp() + interval '1 millisecond'
        RETURNING id, available, expires_at`,
        { accountId, reference },
      );
      let transferId: string | null = null;
      for (const { id, available, expires_at: at } of rows) {
        const amount = picoUsd(available);
        if (amount > 0n) transferId = await move(transaction, 'promo_expiry', { id, accountId, amount, at });
      }
      for (const moved of await findMovedGrants(transaction, { accountId, reference })) {
        transferId = (await endPromoGrant(transaction, moved)) ?? transferId;
      }
      return transferId;
    }),
  );
}

/** Finds the grants to which a merge moved parts of a grant: see {@link movePromoCredit}. */
async function findMovedGrants(
  database: Database,
  { accountId, reference }: Pick<PromoGrant, 'accountId' | 'reference'>,
): Promise<readonly Pick<PromoGrant, 'accountId' | 'reference'>[]> {
  const { rows } = await database.raw<{ rows: Pick<PromoGrant, 'accountId' | 'reference'>[] }>(
    /* sql */ `
    SELECT moved.account_id AS "accountId", moved.reference
    FROM accounts AS source JOIN promo_grants AS promo ON promo.account_id = source.id
    JOIN transfers AS expiry ON expiry.account_id = source.id AND expiry.kind = 'promo_expiry' AND expiry.reference = promo.id
    JOIN promo_grants AS moved ON moved.account_id = source.merged_into AND moved.reference = '${MOVED_BY}' || expiry.id
    WHERE source.id = :accountId AND promo.reference = :reference ORDER BY moved.id`,
    { accountId, reference },
  );
  return rows;
}

/** The start of the reference of a moved grant; the transfer that took the amount follows. */
export const MOVED_BY = 'merge:';

/** The most grants that one call of {@link movePromoCredit} moves. */
const MAX_MOVED = 100;

/**
 * Moves the available rest of grants to grants of another account, with the same expiry, in the order in which they are
 * spent. A grant of the last second expires where it is. Both accounts must be locked.
 *
 * @returns whether no grant is left
 */
export async function movePromoCredit(
  transaction: Database,
  { from, to }: { readonly from: string; readonly to: string },
): Promise<boolean> {
  const rows = await transaction<PromoGrantRow & { readonly is_open: boolean }>('promo_grants')
    .where({ account_id: from, is_open: true })
    .where('available', '>', 0)
    .whereRaw(`expires_at > clock_timestamp() + interval '1 second'`)
    .orderBy(['expires_at', 'id'])
    .limit(MAX_MOVED)
    .select<(PromoGrantRow & { readonly now: Date; readonly has_topped_up: boolean })[]>(
      '*',
      transaction.raw(`clock_timestamp() AS now,
        (SELECT topped_up_at IS NOT NULL FROM accounts WHERE id = account_id) AS has_topped_up`),
    );
  for (const { now, has_topped_up: isPaid, ...row } of rows) {
    const { id, available: amount, expiresAt, author, reason } = toGrant(row);
    const transferId = await move(transaction, 'promo_expiry', {
      id,
      accountId: from,
      amount,
      at: now,
      reason: `moved to ${to}`,
    });
    await grantPromoCredit(transaction, {
      accountId: to,
      amount,
      expiresAt,
      reference: `${MOVED_BY}${transferId}`,
      isPaid,
      author,
      reason: `moved from ${from}: ${reason}`,
    });
  }
  return rows.length < MAX_MOVED;
}

/** @returns the id of the transfer */
async function move(
  transaction: Database,
  kind: 'promo_grant' | 'promo_expiry',
  {
    id: reference,
    at: createdAt,
    ...moved
  }: Pick<PromoGrant, 'id' | 'accountId' | 'amount'> & { readonly at: Date; readonly reason?: string },
): Promise<string> {
  const id = newId('transfer');
  await insertTransfer(transaction, { ...moved, id, kind, signupAmount: moved.amount, reference, createdAt });
  return id;
}

function toGrant(row: PromoGrantRow): PromoGrant {
  return readRow(row, { amounts: ['amount', 'available', 'reserved', 'spent', 'expired'] });
}
