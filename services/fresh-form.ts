import { badRequest } from '../domain/errors.ts';
import { createdAtMsOf, type IdKind, isId } from '../domain/ids.ts';

/** How long a form is valid, which contains the id of the object that it creates. */
const FORM_LIFETIME_MS = 86_400_000;
const MAX_CLOCK_SKEW_MS = 60_000;

/**
 * Checks the age of a form by the creation time in its id.
 *
 * @throws ServiceError `bad_request` for a form that is too old, and for an id of another kind
 */
export function assertFreshForm(kind: IdKind, id: string): void {
  const age = isId(kind, id) ? Date.now() - createdAtMsOf(kind, id) : Number.POSITIVE_INFINITY;
  if (age > FORM_LIFETIME_MS || age < -MAX_CLOCK_SKEW_MS) {
    throw badRequest('This form has expired. Open the page again and fill it in.');
  }
}
