import { createHash, timingSafeEqual } from 'node:crypto';
import { ServiceError } from '../../domain/errors.ts';
import type { Middleware } from '../state.ts';
import { credentialOf } from './authenticate.ts';

/** Requires the operator's token, compared in constant time. */
export function requireAdmin(adminToken: string): Middleware {
  const expected = createHash('sha256').update(adminToken).digest();
  return async (context, next) => {
    const given = createHash('sha256').update(credentialOf(context.headers, [])).digest();
    if (!timingSafeEqual(given, expected)) {
      throw new ServiceError('invalid_api_key', 'The admin token is wrong. It is the value of GENWAY_ADMIN_TOKEN.');
    }
    await next();
  };
}
