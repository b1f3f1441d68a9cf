/** Operators' decisions about registrations that wait for approval: each is done and recorded together, or not at all. */
import type { Database } from '../../db/database.ts';
import {
  type Authorship,
  recordRegistrationAction,
  type RegistrationActionKind,
} from '../../db/queries/operator-actions.ts';
import { lockOpenRegistration, refuseRegistration } from '../../db/queries/registrations.ts';
import { badRequest } from '../../domain/errors.ts';
import { notFoundError } from '../../domain/not-found.ts';
import { completeRegistration } from './registration.ts';
import type { RegistrationServices } from './registration-rules.ts';

/**
 * Creates the user and the account of a registration, with its signup credit.
 *
 * @returns the account; null if a user has the address meanwhile, which refuses the registration
 * @throws ServiceError `not_found`; `bad_request` if the registration does not wait for approval
 */
export function approveRegistration(
  services: RegistrationServices,
  id: string,
  by: Authorship,
): Promise<{ readonly accountId: string } | null> {
  return decide(services.database, { id, kind: 'approve', ...by }, (transaction) =>
    completeRegistration({ ...services, database: transaction }, id),
  );
}

/** Refuses a registration. @throws ServiceError as {@link approveRegistration} */
export function rejectRegistration(database: Database, id: string, by: Authorship): Promise<void> {
  return decide(database, { id, kind: 'reject', ...by }, (transaction) =>
    refuseRegistration(transaction, id, 'rejected'),
  );
}

function decide<Result>(
  database: Database,
  { id, ...action }: Authorship & { readonly id: string; readonly kind: RegistrationActionKind },
  carryOut: (transaction: Database) => Promise<Result>,
): Promise<Result> {
  return database.transaction(async (transaction) => {
    const registration = await lockOpenRegistration(transaction, id);
    if (!registration) throw notFoundError('registration');
    if (registration.state !== 'waiting_for_approval')
      throw badRequest('The registration does not wait for approval: its address is not verified.');
    const result = await carryOut(transaction);
    await recordRegistrationAction(transaction, { registrationId: id, ...action });
    return result;
  });
}
