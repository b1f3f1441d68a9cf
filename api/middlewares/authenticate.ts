import ipaddr from 'ipaddr.js';
import type { Clock } from '../../db/database-clock.ts';
import type { ApiKey, Caller } from '../../db/queries/api-keys.ts';
import { assertNotExhausted, assertUsable, refusedKey } from '../../domain/api-key.ts';
import { ServiceError } from '../../domain/errors.ts';
import { bearerTokenOf } from '../../net/bearer-token.ts';
import type { Context } from '../state.ts';

/** A longer credential is not one of ours and is not worth a digest. */
const MAX_KEY_LENGTH = 256;

/** Where a request may carry its API key beside `Authorization: Bearer`. */
export interface CredentialPlaces {
  /** Headers that count before it, in lower case. */
  readonly before?: readonly string[];
  /** Headers that count after it: clients of other services fill them with placeholders. */
  readonly after?: readonly string[];
  /** The parameter of the query that counts where no header does. Queries are never logged. */
  readonly parameter?: string;
}

export interface Authentication {
  /** The owner of an API key; null when nobody has it. */
  readonly findCaller: (apiKey: string) => Promise<Caller | null>;
  readonly clock: Clock;
  readonly places?: CredentialPlaces;
  /** Of text endpoints, where each call spends money: a spent key is refused at once. */
  readonly forText?: boolean;
}

/** Finds the owner of the API key in a request, and notes it in `state.caller`. @throws ServiceError 401 or 403 */
export type Authenticate = (context: Context) => Promise<Caller>;

/** Requires an API key: contract 5. */
export function createAuthenticator({ findCaller, clock, places = {}, forText = false }: Authentication): Authenticate {
  return async (context) => {
    const apiKey = credentialOf(context, places);
    const caller = apiKey.length <= MAX_KEY_LENGTH ? await findCaller(apiKey) : null;
    if (!caller) throw refusedKey('key_unknown');
    assertUsable(caller.key, new Date(clock.nowMs()));
    if (forText) assertNotExhausted(caller.key);
    if (!isAllowedAddress(caller.key, context.ip)) {
      throw new ServiceError(forText ? 'access_denied' : 'forbidden', addressRefusal(context.ip));
    }
    context.state.caller = caller;
    return caller;
  };
}

/** The credential that a request carries. @throws ServiceError 401 `missing_api_key` */
export function credentialOf(context: Context, { before = [], after = [], parameter }: CredentialPlaces = {}): string {
  const { headers } = context;
  const inHeaders = (names: readonly string[]): string | undefined =>
    names.map((name) => String(headers[name] ?? '').trim()).find((value) => value !== '');
  const inQuery = (): string =>
    parameter === undefined ? '' : String([context.query[parameter] ?? ''].flat()[0]).trim();
  const credential = inHeaders(before) ?? bearerTokenOf(headers) ?? inHeaders(after) ?? inQuery();
  if (credential !== '') return credential;
  throw new ServiceError('missing_api_key', 'No API key was sent. Send "Authorization: Bearer <API_KEY>".');
}

/** Whether the key's allowlist, if it has one, holds the address. */
function isAllowedAddress(key: ApiKey, address: string): boolean {
  return key.ipAllowlist === null || isAddressIn(address, key.ipAllowlist);
}

/** What is said of an address outside the key's allowlist, whatever the code. */
function addressRefusal(address: string): string {
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
