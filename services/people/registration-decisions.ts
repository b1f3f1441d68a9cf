/** Operators' decisions about registrations that wait for approval: each is done and recorded together, or not at all. */
import type { Database } from '../../db/database.ts';
import {
  type Authorship,
  recordRegistrationAction,
  type RegistrationActionKind,
} from '../../db/queries/operator-actions.ts';
import { orderMail } from '../../db/queries/mails.ts';
import { lockOpenRegistration, refuseRegistration, type Registration } from '../../db/queries/registrations.ts';
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

/**
 * Refuses a registration, and orders the e-mail that informs the person.
 *
 * @param message a sentence to the person, unlike the reason; empty for none
 * @throws ServiceError as {@link approveRegistration}
 */
export function rejectRegistration(
  database: Database,
  id: string,
  { message, ...by }: Authorship & { readonly message: string },
): Promise<void> {
  return decide(database, { id, kind: 'reject', ...by }, async (transaction, { email, language }) => {
    await refuseRegistration(transaction, id, 'rejected');
    if (email === null) return;
    await orderMail(transaction, {
      kind: 'registration_rejected',
      address: email,
      reference: `registration_rejected:${id}`,
      facts: { language, message },
    });
  });
}

function decide<Result>(
  database: Database,
  { id, ...action }: Authorship & { readonly id: string; readonly kind: RegistrationActionKind },
  carryOut: (transaction: Database, registration: Registration) => Promise<Result>,
): Promise<Result> {
  return database.transaction(async (transaction) => {
    const registration = await lockOpenRegistration(transaction, id);
    if (!registration) throw notFoundError('registration');
    if (registration.state !== 'waiting_for_approval')
      throw badRequest('The registration does not wait for approval: its address is not verified.');
    const result = await carryOut(transaction, registration);
    await recordRegistrationAction(transaction, { registrationId: id, ...action });
    return result;
  });
}
