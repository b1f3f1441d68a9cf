import { ServiceError } from '../../domain/errors.ts';
import { createTokenCheck } from '../../net/bearer-token.ts';
import type { Middleware } from '../state.ts';
import { credentialOf } from './authenticate.ts';

/** Requires the operator's token. */
export function requireAdmin(adminToken: string): Middleware {
  return requireToken(adminToken, 'The admin token is wrong. It is the value of GENWAY_ADMIN_TOKEN.');
}

/** Requires a bearer token, compared in constant time. @param refusal says to anybody else which one */
export function requireToken(token: string, refusal: string): Middleware {
  const isToken = createTokenCheck(token);
  return async (context, next) => {
    if (!isToken(credentialOf(context.headers))) throw new ServiceError('invalid_api_key', refusal);
    await next();
  };
}
