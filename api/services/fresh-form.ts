import { badRequest } from '../../domain/errors.ts';
import { createdAtMsOf, type IdKind, isId } from '../../domain/ids.ts';

/** For so long a form may be sent that was shown with the id of what it makes. */
const FORM_LIFETIME_MS = 86_400_000;
const CLOCKS_APART_MS = 60_000;

/**
 * Whether a form was shown lately, by the id that it was shown with.
 *
 * @throws ServiceError `bad_request` for a form that is too old, and for an id of another kind
 */
export function assertFreshForm(kind: IdKind, id: string): void {
  const age = isId(kind, id) ? Date.now() - createdAtMsOf(kind, id) : Number.POSITIVE_INFINITY;
  if (age > FORM_LIFETIME_MS || age < -CLOCKS_APART_MS) {
    throw badRequest('This form is too old. Open the page again and fill it in once more.');
  }
}
