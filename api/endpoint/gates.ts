/** What enforces the access rule of an endpoint: contract 5. */
import type { Clock } from '../../db/database-clock.ts';
import type { Caller } from '../../db/queries/api-keys.ts';
import { METRICS_REFUSAL } from '../../telemetry/metrics.ts';
import { type Authentication, createAuthenticator, type CredentialPlaces } from '../middlewares/authenticate.ts';
import type { HoldToLimit } from '../middlewares/limit-requests.ts';
import { requireToken } from '../middlewares/require-token.ts';
import type { FindCaller } from '../services/find-caller.ts';
import type { Context } from '../state.ts';
import type { Access, CallerBy } from './access.ts';

/** Each lets a request in or throws a ServiceError: 401, 403 or 429. */
export type Gates = { readonly [Rule in Access]: (context: Context) => Promise<CallerBy[Rule]> };

export interface GateSettings {
  readonly findCaller: FindCaller;
  /** May be a little behind. */
  readonly findTextCaller: FindCaller;
  readonly clock: Clock;
  readonly holdToLimit: HoldToLimit;
  readonly adminToken: string;
  readonly metricsToken: string;
}

const MESSAGES: CredentialPlaces = { before: ['x-api-key'] };
// The header that counts last is what the vendor's own clients send.
const NATIVE: CredentialPlaces = { before: ['x-native-api-key'], after: ['x-goog-api-key'], parameter: 'key' };
const ANY: CredentialPlaces = { before: ['x-api-key', 'x-native-api-key'], after: ['x-goog-api-key'] };

export function createGates({ findCaller, findTextCaller, clock, holdToLimit, ...tokens }: GateSettings): Gates {
  const keyGate = (authentication: Authentication) => {
    const authenticate = createAuthenticator(authentication);
    return async (context: Context): Promise<Caller> => holdToLimit(context, await authenticate(context));
  };
  const text = { findCaller: findTextCaller, clock, forText: true };
  return {
    key: keyGate({ findCaller, clock }),
    'any-key': keyGate({ findCaller, clock, places: ANY }),
    'text-key': keyGate(text),
    'messages-key': keyGate({ ...text, places: MESSAGES }),
    'native-key': keyGate({ ...text, places: NATIVE }),
    admin: requireToken(tokens.adminToken, 'The admin token is wrong. It is the value of GENWAY_ADMIN_TOKEN.'),
    metrics: requireToken(tokens.metricsToken, METRICS_REFUSAL),
    open: async () => null,
  };
}
