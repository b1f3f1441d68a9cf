import { CHECK_VIOLATION, isDatabaseError } from '../../db/database.ts';
import { badRequest } from '../../domain/errors.ts';

/** @throws ServiceError `bad_request` if PostgreSQL refused an expiry that has passed; any other error unchanged */
export function refuseLateExpiry(error: unknown): never {
  if (!isDatabaseError(error, CHECK_VIOLATION)) throw error;
  throw badRequest('expires_at must be later than now');
}
