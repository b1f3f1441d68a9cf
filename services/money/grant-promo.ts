/** Promo credit that operators grant. */
import type { Database } from '../../db/database.ts';
import { grantPromoCredit, type NewPromoGrant, type PromoGrant } from '../../db/queries/promo-grants.ts';
import { ServiceError } from '../../domain/errors.ts';
import { formatUsd } from '../../domain/money.ts';
import { adjustAlone, type DualControl } from './dual-control.ts';
import { refuseLateExpiry } from './refuse-late-expiry.ts';

/**
 * Grants promo credit once per account and reference.
 *
 * @returns the grant of the reference; `applied` is false if it was granted before
 * @throws ServiceError `forbidden` if the amount needs a second approval; `bad_request` if the credit has already expired;
 * `idempotency_conflict` if the reference was granted with another amount or expiry
 */
export async function grantPromo(
  services: DualControl & { readonly database: Database },
  requested: Omit<NewPromoGrant, 'isPaid'>,
): Promise<{ readonly grant: PromoGrant; readonly applied: boolean }> {
  const { grant, applied } = await adjustAlone(services, requested, async (transaction) => {
    const granted = await grantPromoCredit(transaction, requested).catch(refuseLateExpiry);
    return { id: granted.grant.id, ...granted };
  });
  if (grant.amount !== requested.amount || grant.expiresAt.getTime() !== requested.expiresAt.getTime()) {
    throw new ServiceError(
      'idempotency_conflict',
      `This reference was granted before: ${formatUsd(grant.amount)} USD until ${grant.expiresAt.toISOString()}.`,
    );
  }
  return { grant, applied };
}
