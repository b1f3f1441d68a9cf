/** Gives accounts that registered the signup credit of the operator's file, within its limits. */
import type { SignupRules } from '../../catalogue/signup.ts';
import type { Database } from '../../db/database.ts';
import { recordSignupCredit } from '../../db/queries/signup-credits.ts';
import type { SignupCreditOutcome } from '../../domain/signup-credit.ts';
import { isDisposable } from './disposable-address.ts';

/** An account whose owner's address is verified. */
export interface NewlyRegistered {
  readonly accountId: string;
  readonly email: string;
  readonly normalAddressDigest: Buffer;
  readonly network: string;
}

/**
 * Decides about the credit of a new account, once. Call this last in the transaction that creates the account.
 *
 * @returns null if the operator gives no credit
 */
export async function giveSignupCredit(
  transaction: Database,
  { signupCredit, disposable }: Pick<SignupRules, 'signupCredit' | 'disposable'>,
  { email, accountId, normalAddressDigest, network }: NewlyRegistered,
): Promise<SignupCreditOutcome | null> {
  if (signupCredit === null) return null;
  const isRefused = disposable.rule !== 'accept' && isDisposable(email, disposable);
  return recordSignupCredit(
    transaction,
    { accountId, normalAddressDigest, network, isDisposable: isRefused },
    signupCredit,
  );
}
