import { ServiceError } from '../../domain/errors.ts';
import { createTokenCheck } from '../../domain/bearer-token.ts';
import type { Context } from '../state.ts';
import { credentialOf } from './authenticate.ts';

/** Requires a bearer token, compared in constant time. @param refusal the message for a wrong token */
export function requireToken(token: string, refusal: string): (context: Context) => Promise<null> {
  const isToken = createTokenCheck(token);
  return async (context) => {
    if (!isToken(credentialOf(context))) throw new ServiceError('invalid_api_key', refusal);
    return null;
  };
}
