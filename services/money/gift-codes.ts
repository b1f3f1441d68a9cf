/** Gift codes: issuing them in batches, and redeeming them. */
import { readDatabaseTime } from '../../db/database-clock.ts';
import type { Database } from '../../db/database.ts';
import { withPartitions } from '../../db/partitions.ts';
import { findAccount, lockAccount } from '../../db/queries/accounts.ts';
import { creditGift } from '../../db/queries/credits.ts';
import {
  approveGiftBatch,
  findGiftBatch,
  type GiftBatch,
  GiftLimitReachedError,
  insertGiftBatch,
  lockGiftCode,
  type LockedGiftCode,
  lockGiftIssues,
  type NewGiftBatch,
  recordGiftRedemption,
  sumUnapprovedIssues,
  withdrawGiftBatch,
} from '../../db/queries/gift-codes.ts';
import type { Authorship } from '../../db/queries/operator-actions.ts';
import { grantPromoCredit } from '../../db/queries/promo-grants.ts';
import { type AttemptLimit, claimSignInAttempts, uncountSignInAttempt } from '../../db/queries/sessions.ts';
import { digestToken } from '../../domain/bearer-token.ts';
import { daysAfter } from '../../domain/day.ts';
import { ServiceError } from '../../domain/errors.ts';
import { type GiftKind, giftStatusOf, lettersOfGiftCode, newGiftCode } from '../../domain/gift-code.ts';
import { newId } from '../../domain/ids.ts';
import { formatDollars, type PicoUsd } from '../../domain/money.ts';
import { normalAddress } from '../../domain/normal-address.ts';
import { notFoundError } from '../../domain/not-found.ts';
import { CORRECTIONS, GIFT_CODES } from '../../domain/policy.ts';
import { networkOf } from '../people/network.ts';
import type { DualControl } from './dual-control.ts';
import { refuseLateExpiry } from './refuse-late-expiry.ts';

/** A batch with its codes, which are shown once. */
export interface IssuedGiftBatch extends GiftBatch {
  readonly giftCodes: readonly string[];
}

/**
 * Issues codes. If the batch, alone or with recent batches, exceeds the amount of dual control, its codes work only after
 * a second person approves the batch.
 *
 * @throws ServiceError `bad_request` when the batch has already expired
 */
export function issueGiftBatch(services: IssueServices, batch: NewGiftBatch): Promise<IssuedGiftBatch> {
  return issue(services, batch, () => {});
}

/**
 * Issues codes that need no approval. The holder of a token may also be a person in the console, who must not approve
 * the token's batch.
 *
 * @throws ServiceError `bad_request` when the batch has already expired; `forbidden` when it exceeds the amount
 */
export function issueGiftBatchAlone(
  services: IssueServices & Pick<DualControl, 'publicUrl'>,
  batch: NewGiftBatch,
): Promise<IssuedGiftBatch> {
  return issue(services, batch, (limit) => {
    throw new ServiceError(
      'forbidden',
      `Batches of gift codes above ${formatDollars(limit)} within ${CORRECTIONS.addUpHours} hours need the approval of a ` +
        `second person. Issue the batch at ${services.publicUrl}/console/staff/gift-codes.`,
    );
  });
}

type IssueServices = Pick<DualControl, 'money'> & { readonly database: Database };

async function issue(
  { database, money: { secondApprovalAbove } }: IssueServices,
  batch: NewGiftBatch,
  onExcess: (limit: PicoUsd) => void,
): Promise<IssuedGiftBatch> {
  const { id, amount, codes } = batch;
  const giftCodes = Array.from({ length: codes }, newGiftCode);
  const stored = giftCodes.map((code) => ({ id: newId('giftCode'), digest: digestOf(code) }));
  await database.transaction(async (transaction) => {
    await lockGiftIssues(transaction);
    const lately = await sumUnapprovedIssues(transaction, CORRECTIONS.addUpHours);
    const requiresSecondApproval =
      secondApprovalAbove !== null && lately + amount * BigInt(codes) > secondApprovalAbove;
    if (requiresSecondApproval) onExcess(secondApprovalAbove);
    await insertGiftBatch(transaction, { ...batch, requiresSecondApproval }, stored).catch(refuseLateExpiry);
  });
  return { ...(await existingGiftBatch(database, id)), giftCodes };
}

/** @throws ServiceError `not_found` */
export async function existingGiftBatch(database: Database, id: string): Promise<GiftBatch> {
  const batch = await findGiftBatch(database, id);
  if (!batch) throw notFoundError('giftBatch');
  return batch;
}

/** Approves a batch of another person. @throws ServiceError `not_found`; `forbidden`; `idempotency_conflict` */
export async function approveBatch(database: Database, id: string, by: string): Promise<void> {
  const batch = await existingGiftBatch(database, id);
  if (batch.author === by)
    throw new ServiceError('forbidden', 'A second person must approve your batch of gift codes.');
  if (!batch.requiresSecondApproval)
    throw new ServiceError('idempotency_conflict', 'The batch of gift codes needs no approval.');
  await approveGiftBatch(database, id, by);
}

/** Withdraws a batch: no code of it can be redeemed from now on. Does nothing the second time. @throws ServiceError `not_found` */
export async function withdrawBatch(database: Database, id: string, by: Authorship): Promise<GiftBatch> {
  await existingGiftBatch(database, id);
  await withdrawGiftBatch(database, id, by);
  return existingGiftBatch(database, id);
}

/** What the redemption of a code gave. */
export interface GiftRedemption {
  readonly id: string;
  readonly kind: GiftKind;
  readonly amount: PicoUsd;
  readonly redeemedAt: Date;
  /** When promo credit expires; null for funds. */
  readonly creditExpiresAt: Date | null;
}

/** Who redeems a code. */
export interface Redeemer {
  readonly accountId: string;
  /** The person's e-mail address; null for a call with an API key, which many people may have. */
  readonly email: string | null;
  readonly ip: string;
}

/**
 * Credits the account with the amount of a code, once: the same account gets the same answer again, whatever happened to
 * the batch since. All codes that others redeemed, or that do not work, get the answer of a code that does not exist.
 *
 * @param typed with or without hyphens and spaces, in any case
 * @throws ServiceError `not_found`; `forbidden` when the account is suspended, or the account or the person redeemed
 *   another code of a batch that allows one; `rate_limit_exceeded` after too many wrong codes
 */
export async function redeemGiftCode(
  database: Database,
  typed: string,
  { accountId, email, ip }: Redeemer,
): Promise<GiftRedemption> {
  const limits = attemptLimits(accountId, ip);
  if (!(await claimSignInAttempts(database, limits))) throw refuseAttempt();
  const redemption = await withPartitions(database, () =>
    database.transaction(async (transaction) => {
      await lockAccount(transaction, accountId);
      const code = await lockGiftCode(transaction, digestOf(typed));
      if (code?.redeemed?.accountId === accountId) return toRedemption(code, code.redeemed.at);
      const now = await readDatabaseTime(transaction);
      if (!code || code.redeemed !== null || giftStatusOf(code.batch, now) !== 'open') throw refuseCode();
      await assertMayRedeem(transaction, code, { accountId, email });
      const countedFor = { account: accountId, person: email && personOf(email), none: null }[
        code.batch.oncePer ?? 'none'
      ];
      const creditId = await credit(transaction, code, accountId, now);
      await recordGiftRedemption(transaction, { id: code.id, accountId, redeemedAt: now, creditId, countedFor });
      return toRedemption(code, now);
    }),
  ).catch(refuseLimit);
  for (const { subject } of limits) await uncountSignInAttempt(database, subject);
  return redemption;
}

async function assertMayRedeem(
  transaction: Database,
  { batch }: LockedGiftCode,
  { accountId, email }: Omit<Redeemer, 'ip'>,
): Promise<void> {
  const account = await findAccount(transaction, accountId);
  if (account?.suspendedAt !== null)
    throw new ServiceError('forbidden', 'The account is suspended. Ask the operator to reopen it.');
  if (batch.oncePer === 'person' && email === null)
    throw new ServiceError('forbidden', 'Each person can redeem one such code: redeem it in the console, signed in.');
}

/** @returns the id of the transfer, or of the grant */
async function credit(
  transaction: Database,
  { id: codeId, batch }: LockedGiftCode,
  accountId: string,
  now: Date,
): Promise<string> {
  const { amount, creditDays, author, label } = batch;
  if (creditDays === null) return creditGift(transaction, { accountId, amount, codeId, at: now });
  const expiresAt = daysAfter(now, creditDays);
  const grant = { accountId, amount, expiresAt, reference: codeId, author, reason: label };
  return (await grantPromoCredit(transaction, grant)).grant.id;
}

function toRedemption({ id, batch: { kind, amount, creditDays } }: LockedGiftCode, redeemedAt: Date): GiftRedemption {
  const creditExpiresAt = creditDays === null ? null : daysAfter(redeemedAt, creditDays);
  return { id, kind, amount, redeemedAt, creditExpiresAt };
}

/** The mailbox stands for the person, also for a user who is deleted and registers again. */
function personOf(email: string): string {
  return digestToken(normalAddress(email)).toString('hex');
}

/** A code has far more random bits than can be guessed, so its digest needs no pepper. */
function digestOf(code: string): Buffer {
  return digestToken(lettersOfGiftCode(code));
}

function attemptLimits(accountId: string, ip: string): readonly AttemptLimit[] {
  const { accountAttempts, networkAttempts, windowSeconds } = GIFT_CODES;
  return [
    { subject: ['gift code of account', accountId], most: accountAttempts, windowSeconds },
    { subject: ['gift code from network', networkOf(ip)], most: networkAttempts, windowSeconds },
  ];
}

function refuseAttempt(): ServiceError {
  return new ServiceError('rate_limit_exceeded', 'There were too many wrong codes. Try again in 15 minutes.', {
    retryAfterSeconds: GIFT_CODES.windowSeconds,
  });
}

function refuseCode(): ServiceError {
  return new ServiceError('not_found', 'The code is wrong, or can no longer be redeemed. Check each letter.', {
    fieldFault: { path: ['code'], kind: 'giftCode.unknown', values: {} },
  });
}

function refuseLimit(error: unknown): never {
  if (!(error instanceof GiftLimitReachedError)) throw error;
  throw new ServiceError('forbidden', 'Only one such code can be redeemed, and one was redeemed before.');
}
