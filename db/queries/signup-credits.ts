/** Decisions about the signup credit of accounts that registered: see `db/schema/0013-signup-credit.sql`. */
import { newId } from '../../domain/ids.ts';
import type { PicoUsd } from '../../domain/money.ts';
import { decideSignupCredit, type SignupCreditLimits, type SignupCreditOutcome } from '../../domain/signup-credit.ts';
import type { Database } from '../database.ts';
import { columnsOf } from '../row.ts';
import { insertTransfer } from './transfers.ts';

/** An account that just registered. */
export interface SignupCreditRequest {
  readonly accountId: string;
  readonly normalAddressDigest: Buffer;
  /** The /24 or /64 of the client. */
  readonly network: string;
  readonly isDisposable: boolean;
}

/** An arbitrary number that no other advisory lock uses. */
const DECIDING_LOCK = 6_130_428;

/**
 * Decides about the credit of a new account, and posts it if it is granted. Decisions wait for each other, because each
 * counts the grants before it: call this last in a transaction.
 */
export async function recordSignupCredit(
  transaction: Database,
  { isDisposable, ...request }: SignupCreditRequest,
  { amount, ...limits }: SignupCreditLimits & { readonly amount: PicoUsd },
): Promise<SignupCreditOutcome> {
  await transaction.raw('SELECT pg_advisory_xact_lock(:lock)', { lock: DECIDING_LOCK });
  const facts = { isDisposable, ...(await readFacts(transaction, request)) };
  const outcome = decideSignupCredit(facts, limits);
  const transferId = outcome === 'granted' ? await post(transaction, { ...request, amount }) : null;
  await transaction('signup_credits').insert(columnsOf({ ...request, amount, outcome, transferId }));
  return outcome;
}

/** Posts the credit that awaits the first payment of the account, if there is any, once. A merged account gets none. */
export async function postAwaitedSignupCredit(transaction: Database, accountId: string): Promise<void> {
  const row = await transaction('signup_credits')
    .where({ account_id: accountId, outcome: 'awaits_payment' })
    .whereNotExists(transaction('accounts').where({ id: accountId }).whereNotNull('merged_into'))
    .forUpdate()
    .first<{ amount: string; normal_address_digest: Buffer } | undefined>('amount', 'normal_address_digest');
  if (!row) return;
  const credit = { accountId, amount: BigInt(row.amount), normalAddressDigest: row.normal_address_digest };
  const transferId = await post(transaction, credit);
  await transaction('signup_credits')
    .where({ account_id: accountId })
    .update({ outcome: 'granted', transfer_id: transferId });
}

/** @returns the id of the transfer */
async function post(
  transaction: Database,
  {
    accountId,
    amount,
    normalAddressDigest,
  }: Pick<SignupCreditRequest, 'accountId' | 'normalAddressDigest'> & { readonly amount: PicoUsd },
): Promise<string> {
  const id = newId('transfer');
  const reference = `signup:${normalAddressDigest.toString('hex')}`;
  await insertTransfer(transaction, { id, kind: 'signup_grant', accountId, amount, signupAmount: amount, reference });
  return id;
}

async function readFacts(
  transaction: Database,
  { normalAddressDigest, network }: Pick<SignupCreditRequest, 'normalAddressDigest' | 'network'>,
): Promise<{ isAddressUsed: boolean; grantsOfNetwork: number; grantsOfDay: number }> {
  const { rows } = await transaction.raw<{ rows: { used: boolean; of_network: string; of_day: string }[] }>(
    /* sql */ `
    SELECT count(*) FILTER (WHERE network = :network) AS of_network, count(*) AS of_day,
      EXISTS (SELECT 1 FROM signup_credits
        WHERE normal_address_digest = :normalAddressDigest AND outcome IN ('granted', 'awaits_payment')) AS used
    FROM signup_credits
    WHERE outcome IN ('granted', 'awaits_payment') AND decided_at >= date_trunc('day', now(), 'UTC')`,
    { normalAddressDigest, network },
  );
  const { used = false, of_network: ofNetwork = 0, of_day: ofDay = 0 } = rows[0] ?? {};
  return { isAddressUsed: used, grantsOfNetwork: Number(ofNetwork), grantsOfDay: Number(ofDay) };
}
