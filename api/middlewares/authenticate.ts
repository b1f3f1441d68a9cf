import type { Clock } from '../../db/database-clock.ts';
import type { Caller } from '../../db/queries/api-keys.ts';
import { assertNotExhausted, assertUsable, keyRefusalError } from '../../domain/api-key.ts';
import { ServiceError } from '../../domain/errors.ts';
import { bearerTokenOf } from '../../domain/bearer-token.ts';
import type { CredentialPlaces } from '../../domain/credential-places.ts';
import type { Context } from '../state.ts';
import { isRead } from './limit-requests.ts';
import { assertAllowedAddress } from '../../services/people/allowed-address.ts';

/** A longer credential cannot be one of ours and is not worth hashing. */
const MAX_KEY_LENGTH = 256;

export interface Authentication {
  /** The owner of an API key; null for an unknown key. */
  readonly findCaller: (apiKey: string) => Promise<Caller | null>;
  readonly clock: Clock;
  readonly places?: CredentialPlaces;
  /** For text endpoints. */
  readonly forText?: boolean;
  /** Lets the endpoint refuse exhausted keys itself. By default they may only read. */
  readonly canBeExhausted?: boolean;
}

/** Finds the owner of a request's API key and records it in `state.caller`. @throws ServiceError 401 or 403 */
export type Authenticate = (context: Context) => Promise<Caller>;

/** Requires an API key: contract 5. */
export function createAuthenticator(authentication: Authentication): Authenticate {
  const { findCaller, clock, places = {}, forText = false, canBeExhausted = false } = authentication;
  return async (context) => {
    const apiKey = credentialOf(context, places);
    const caller = apiKey.length <= MAX_KEY_LENGTH ? await findCaller(apiKey) : null;
    if (!caller) throw keyRefusalError('key_unknown');
    context.state.apiKey = caller.key;
    assertUsable(caller.key, caller.account, new Date(clock.nowMs()));
    if (!canBeExhausted && !isRead(context)) assertNotExhausted(caller.key);
    assertAllowedAddress(caller.key, context, forText ? 'access_denied' : 'forbidden');
    context.state.caller = caller;
    return caller;
  };
}

/** The credential of a request. @throws ServiceError 401 `missing_api_key` */
export function credentialOf(context: Context, { before = [], after = [], parameter }: CredentialPlaces = {}): string {
  const { headers } = context;
  const inHeaders = (names: readonly string[]): string | undefined =>
    names.map((name) => String(headers[name] ?? '').trim()).find((value) => value !== '');
  const inQuery = (): string => (parameter === undefined ? '' : (context.state.query.get(parameter) ?? '').trim());
  const credential = inHeaders(before) ?? bearerTokenOf(headers) ?? inHeaders(after) ?? inQuery();
  if (credential !== '') return credential;
  throw new ServiceError('missing_api_key', 'No API key was sent. Send "Authorization: Bearer <API_KEY>".');
}
