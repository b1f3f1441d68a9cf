/** Gift codes and the batches in which they are issued: see `db/schema/0009-finance.sql`. */
import type { GiftKind, GiftLimit } from '../../domain/gift-code.ts';
import type { PicoUsd } from '../../domain/money.ts';
import { type Database, isViolationOf, picoUsd } from '../database.ts';
import { type IdPage, newestFirst } from '../page.ts';
import { columnsOf, readRow, type RowOf } from '../row.ts';

/** The terms of a batch. They never change. */
export interface NewGiftBatch {
  readonly id: string;
  /** For operators; never shown to customers. */
  readonly label: string;
  readonly kind: GiftKind;
  /** The amount of each code. */
  readonly amount: PicoUsd;
  /** The number of codes. */
  readonly codes: number;
  /** How long promo credit lasts, from its redemption; null for funds. */
  readonly creditDays: number | null;
  /** Who may redeem only one code of the batch; null if nobody is limited. */
  readonly oncePer: GiftLimit | null;
  readonly expiresAt: Date;
  readonly author: string;
}

export interface GiftBatch extends NewGiftBatch {
  readonly requiresSecondApproval: boolean;
  readonly createdAt: Date;
  readonly approvedBy: string | null;
  readonly approvedAt: Date | null;
  readonly withdrawnBy: string | null;
  readonly withdrawnAt: Date | null;
  readonly withdrawalReason: string | null;
  readonly redeemedCodes: number;
}

type GiftBatchRow = RowOf<GiftBatch, 'redeemedCodes'>;

/** The form in which a code is stored. */
export interface StoredGiftCode {
  readonly id: string;
  readonly digest: Buffer;
}

/** A redeemed code. */
export interface RedeemedGiftCode {
  readonly id: string;
  readonly batchId: string;
  readonly accountId: string;
  readonly redeemedAt: Date;
  /** The transfer of funds, or the grant of promo credit. */
  readonly creditId: string;
}

/** An account or a person has redeemed another code of the batch, which allows only one. */
export class GiftLimitReachedError extends Error {
  override readonly name = 'GiftLimitReachedError';
}

/** An arbitrary number that no other advisory lock uses. */
const ISSUE_LOCK = 5_410_311;

/** Lets transactions that issue codes run one after another, so that the sum of recent issues is exact. */
export async function lockGiftIssues(transaction: Database): Promise<void> {
  await transaction.raw('SELECT pg_advisory_xact_lock(:lock)', { lock: ISSUE_LOCK });
}

/** Sums what batches without a second approval issued in the last hours. Exact under {@link lockGiftIssues}. */
export async function sumUnapprovedIssues(database: Database, hours: number): Promise<PicoUsd> {
  const [row] = await database('gift_batches')
    .where({ requires_second_approval: false })
    .whereRaw('created_at > now() - make_interval(hours => :hours)', { hours })
    .select<{ issued: string }[]>(database.raw('coalesce(sum(amount * codes), 0) AS issued'));
  return picoUsd(row?.issued ?? '0');
}

/** @throws a check violation when `expiresAt` has passed */
export async function insertGiftBatch(
  transaction: Database,
  batch: NewGiftBatch & { readonly requiresSecondApproval: boolean },
  codes: readonly StoredGiftCode[],
): Promise<void> {
  await transaction('gift_batches').insert(columnsOf(batch));
  await transaction('gift_codes').insert(codes.map(({ id, digest }) => ({ id, digest, batch_id: batch.id })));
}

/** Lists the batches, newest first. */
export async function listGiftBatches(database: Database, page: IdPage): Promise<readonly GiftBatch[]> {
  return (await newestFirst(withCounts(database), page)).map(toBatch);
}

export async function findGiftBatch(database: Database, id: string): Promise<GiftBatch | null> {
  const row = await withCounts(database).where({ id }).first();
  return row ? toBatch(row) : null;
}

/** Approves a batch, unless it was approved before. */
export async function approveGiftBatch(database: Database, id: string, by: string): Promise<void> {
  await database('gift_batches')
    .where({ id, approved_at: null })
    .update({ approved_by: by, approved_at: database.raw('clock_timestamp()') });
}

/** Withdraws a batch, unless it was withdrawn before. A redemption in progress completes first. */
export async function withdrawGiftBatch(
  database: Database,
  id: string,
  { author, reason }: { readonly author: string; readonly reason: string },
): Promise<void> {
  await database('gift_batches')
    .where({ id, withdrawn_at: null })
    .update({ withdrawn_by: author, withdrawn_at: database.raw('clock_timestamp()'), withdrawal_reason: reason });
}

/** Lists the redeemed codes of a batch, newest issue first. */
export async function listRedeemedGiftCodes(
  database: Database,
  { batchId, ...page }: IdPage & { readonly batchId: string },
): Promise<readonly RedeemedGiftCode[]> {
  const query = database<RowOf<RedeemedGiftCode>>('gift_codes')
    .where({ batch_id: batchId })
    .whereNotNull('redeemed_at')
    .select('id', 'batch_id', 'account_id', 'redeemed_at', 'credit_id');
  return (await newestFirst(query, page)).map((row) => readRow(row, {}));
}

/** A code as operators find it. */
export interface FoundGiftCode {
  readonly batchId: string;
  /** Null until an account redeems the code, like the next two. */
  readonly accountId: string | null;
  readonly redeemedAt: Date | null;
  readonly creditId: string | null;
}

export async function findGiftCode(database: Database, id: string): Promise<FoundGiftCode | null> {
  const row = await database('gift_codes')
    .where({ id })
    .first<RowOf<FoundGiftCode> | undefined>('batch_id', 'account_id', 'redeemed_at', 'credit_id');
  return row ? readRow(row, {}) : null;
}

/** A code with its batch. */
export interface LockedGiftCode {
  readonly id: string;
  readonly redeemed: { readonly accountId: string; readonly at: Date } | null;
  readonly batch: Omit<GiftBatch, 'redeemedCodes'>;
}

/**
 * Locks a code against other redemptions, and its batch against a withdrawal, until the transaction ends. The account
 * must be locked before.
 */
export async function lockGiftCode(transaction: Database, digest: Buffer): Promise<LockedGiftCode | null> {
  const [code] = await transaction('gift_codes')
    .where({ digest })
    .forUpdate()
    .select<{ id: string; batch_id: string; account_id: string | null; redeemed_at: Date | null }[]>(
      'id',
      'batch_id',
      'account_id',
      'redeemed_at',
    );
  if (!code) return null;
  const batch = await transaction<Omit<GiftBatchRow, 'redeemed_codes'>>('gift_batches')
    .where({ id: code.batch_id })
    .forShare()
    .first();
  if (!batch) throw new Error(`the batch ${code.batch_id} cannot have disappeared`);
  const { id, account_id: accountId, redeemed_at: redeemedAt } = code;
  return {
    id,
    redeemed: accountId === null || redeemedAt === null ? null : { accountId, at: redeemedAt },
    batch: readRow(batch, { amounts: ['amount'] }),
  };
}

/** @param countedFor the account or the person that may redeem no other code of the batch @throws GiftLimitReachedError */
export async function recordGiftRedemption(
  transaction: Database,
  { id, ...redemption }: Omit<RedeemedGiftCode, 'batchId'> & { readonly countedFor: string | null },
): Promise<void> {
  await transaction('gift_codes')
    .where({ id })
    .update(columnsOf(redemption))
    .catch((error: unknown) => {
      if (!isViolationOf(error, 'gift_codes_once')) throw error;
      throw new GiftLimitReachedError(`${redemption.countedFor ?? ''} has redeemed another code of the batch`);
    });
}

function withCounts(database: Database) {
  return database<GiftBatchRow>('gift_batches').select(
    'gift_batches.*',
    database.raw(
      '(SELECT count(*) FROM gift_codes WHERE batch_id = gift_batches.id AND redeemed_at IS NOT NULL) AS redeemed_codes',
    ),
  );
}

function toBatch(row: GiftBatchRow): GiftBatch {
  return readRow(row, { amounts: ['amount'], counts: ['redeemed_codes'] });
}
