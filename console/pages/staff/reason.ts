/** Reads the reason that operators give for each change to a customer's account, stored with their address. */
import { operatorActionSchema } from '../../../services/input/admin.ts';
import { createValidator } from '../../../services/input/validation.ts';
import type { Authorship } from '../../../db/queries/operator-actions.ts';
import type { UserVisit } from '../../page.ts';

const validate = createValidator(operatorActionSchema);

/** @throws ServiceError `bad_request` without a reason */
export function authorshipOf({ form, user }: UserVisit): Authorship {
  return { author: user.email, reason: validate({ reason: form.text('reason') }).reason };
}
