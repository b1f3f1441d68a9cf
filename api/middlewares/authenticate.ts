import type { IncomingHttpHeaders } from 'node:http';
import ipaddr from 'ipaddr.js';
import { createBatcher } from '../../db/batcher.ts';
import type { Database } from '../../db/database.ts';
import { type Clock, MACHINE_CLOCK } from '../../db/database-clock.ts';
import { type ApiKey, type Caller, findCallers } from '../../db/queries/api-keys.ts';
import { assertUsable, refusedKey } from '../../domain/api-key.ts';
import { ServiceError } from '../../domain/errors.ts';
import { bearerTokenOf } from '../../net/bearer-token.ts';
import { digestApiKey } from '../services/api-key-digest.ts';
import type { Context } from '../state.ts';

/** A longer credential is not one of ours and is not worth a digest. */
export const MAX_KEY_LENGTH = 256;
const MAX_LOOKUPS_AT_ONCE = 100;

export interface Authentication {
  readonly database: Database;
  readonly keyPepper: Buffer;
  readonly clock?: Clock;
}

/** The headers in which a format's clients send the key, in lower case, beside `Authorization: Bearer`. */
export interface CredentialHeaders {
  /** Those that count before it. */
  readonly before: readonly string[];
  /** Those that count after it: clients of other services fill them with placeholders. */
  readonly after: readonly string[];
}

const BEARER_ONLY: CredentialHeaders = { before: [], after: [] };
/** The headers that carry the key of any format, for calls that belong to none of them. */
export const EVERY_CREDENTIAL_HEADER: CredentialHeaders = {
  before: ['x-api-key', 'x-native-api-key'],
  after: ['x-goog-api-key'],
};

/** Finds the owner of the API key in a request, and notes it in `state.caller`. @throws ServiceError 401 or 403 */
export type Authenticate = (context: Context) => Promise<Caller>;

/**
 * Requires an API key: contract 5. The database is asked on every request, so that a deleted or disabled key stops working at
 * once in every process.
 */
export function createAuthenticator(
  { database, keyPepper, clock = MACHINE_CLOCK }: Authentication,
  headers: CredentialHeaders = BEARER_ONLY,
): Authenticate {
  const callers = createBatcher<Buffer, Caller | null>((digests) => findCallers(database, digests), {
    maxItems: MAX_LOOKUPS_AT_ONCE,
  });
  return async (context) => {
    const key = credentialOf(context.headers, headers);
    const caller = key.length <= MAX_KEY_LENGTH ? await callers.add(digestApiKey(key, keyPepper)) : null;
    if (!caller) throw refusedKey('key_unknown');
    assertUsable(caller.key, new Date(clock.nowMs()));
    if (!isAllowedAddress(caller.key, context.ip)) throw new ServiceError('forbidden', addressRefusal(context.ip));
    context.state.caller = caller;
    return caller;
  };
}

/**
 * The credential that a request carries.
 *
 * @param otherwise what counts when no header holds one; may be empty
 * @throws ServiceError 401 `missing_api_key`
 */
export function credentialOf(
  headers: IncomingHttpHeaders,
  names: CredentialHeaders = BEARER_ONLY,
  otherwise = '',
): string {
  const inHeaders = (some: readonly string[]): string | undefined =>
    some.map((name) => String(headers[name] ?? '').trim()).find((value) => value !== '');
  const credential = inHeaders(names.before) ?? bearerTokenOf(headers) ?? inHeaders(names.after) ?? otherwise.trim();
  if (credential !== '') return credential;
  throw refusedKey('key_missing');
}

/** Whether the key's allowlist, if it has one, holds the address. */
export function isAllowedAddress(key: ApiKey, address: string): boolean {
  return key.ipAllowlist === null || isAddressIn(address, key.ipAllowlist);
}

/** What is said of an address outside the key's allowlist, whatever the code. */
export function addressRefusal(address: string): string {
  return `The API key may not be used from the address ${address}. Add it to the allowlist.`;
}

/** Whether an address is one of those listed, or in one of the listed CIDR ranges. */
export function isAddressIn(address: string, allowlist: readonly string[]): boolean {
  if (!ipaddr.isValid(address)) return false;
  const caller = ipaddr.process(address);
  return allowlist.some((entry) => {
    const [network, bits] = entry.includes('/') ? ipaddr.parseCIDR(entry) : [ipaddr.process(entry), null];
    if (network.kind() !== caller.kind()) return false;
    return bits === null ? network.toString() === caller.toString() : caller.match(network, bits);
  });
}
