/** Creating accounts and changing their details. */
import { type AccountDetails, ExternalIdTakenError, insertAccount, updateAccount } from '../../db/queries/accounts.ts';
import { grantSignupCredit } from '../../db/queries/credits.ts';
import { recordAccountAction } from '../../db/queries/operator-actions.ts';
import { ServiceError } from '../../domain/errors.ts';
import { newId } from '../../domain/ids.ts';
import type { PicoUsd } from '../../domain/money.ts';
import { recordManualAdjustment } from '../money/dual-control.ts';
import type { Services } from '../services.ts';

/** @returns the id of the account @throws ServiceError `idempotency_conflict` if another account has the external id */
export async function createAccount(
  services: Services,
  details: AccountDetails & { readonly name: string },
  { author, signupCredit = 0n }: { readonly author: string; readonly signupCredit?: PicoUsd },
): Promise<string> {
  const id = newId('account');
  await unlessTaken(
    services.database.transaction(async (transaction) => {
      await insertAccount(transaction, { ...details, id });
      if (signupCredit === 0n) return;
      const transferId = await grantSignupCredit(transaction, id, signupCredit);
      await recordManualAdjustment(transaction, services, {
        id: transferId,
        accountId: id,
        amount: signupCredit,
        author,
      });
    }),
  );
  return id;
}

/**
 * Changes the given details, and records their names.
 *
 * @param names the API's names of the changed details
 * @throws ServiceError `not_found`, or `idempotency_conflict` if another account has the external id
 */
export function editAccount(
  { database }: Pick<Services, 'database'>,
  {
    accountId,
    details,
    names,
    author,
  }: {
    readonly accountId: string;
    readonly details: AccountDetails;
    readonly names: readonly string[];
    readonly author: string;
  },
): Promise<void> {
  return unlessTaken(
    database.transaction(async (transaction) => {
      if (!(await updateAccount(transaction, accountId, details)))
        throw new ServiceError('not_found', 'There is no such account. Check the id.');
      const reason = `set ${names.join(', ') || 'nothing'}`;
      await recordAccountAction(transaction, { accountId, kind: 'edit', author, reason });
    }),
  );
}

async function unlessTaken<Result>(change: Promise<Result>): Promise<Result> {
  try {
    return await change;
  } catch (error) {
    if (!(error instanceof ExternalIdTakenError)) throw error;
    throw new ServiceError(
      'idempotency_conflict',
      'Another account has this external id. GET /admin/v1/accounts?external_id= finds it.',
    );
  }
}
