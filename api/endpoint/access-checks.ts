/** Enforces the access rules of endpoints: contract 5. */
import type { Clock } from '../../db/database-clock.ts';
import type { Caller } from '../../db/queries/api-keys.ts';
import { ANY_PLACES, MESSAGES_PLACES, NATIVE_PLACES } from '../../domain/credential-places.ts';
import type { AdminRole } from '../../domain/roles.ts';
import { ServiceError } from '../../domain/errors.ts';
import { realtimeDisabled } from '../../domain/realtime.ts';
import { METRICS_REFUSAL } from '../../telemetry/metrics.ts';
import { type Authentication, createAuthenticator, credentialOf } from '../middlewares/authenticate.ts';
import type { RequestLimit } from '../middlewares/limit-requests.ts';
import { requireToken } from '../middlewares/require-token.ts';
import type { Administrator, FindAdministrator } from '../../services/people/administrator.ts';
import type { FindCaller } from '../../services/people/find-caller.ts';
import type { Context } from '../state.ts';
import { type Access, type CallerBy, ROLES } from './access.ts';

/** The access check of each rule. It returns the caller, or throws ServiceError 401, 403 or 429. */
export type AccessChecks = { readonly [Rule in Access]: (context: Context) => Promise<CallerBy[Rule]> };

export interface AccessCheckSettings {
  readonly findCaller: FindCaller;
  /** May return a caller that is a few seconds old. */
  readonly findTextCaller: FindCaller;
  readonly clock: Clock;
  readonly requestLimit: RequestLimit;
  readonly findAdministrator: FindAdministrator;
  readonly metricsToken: string;
  readonly isRealtimeOffered: () => boolean;
}

const WRONG_ADMIN_TOKEN =
  'The admin token is wrong, revoked or expired. Send one that `genway admin-tokens create` made, or the value of ' +
  'GENWAY_ADMIN_TOKEN.';

export function createAccessChecks(settings: AccessCheckSettings): AccessChecks {
  const { findCaller, findTextCaller, clock, requestLimit, findAdministrator, metricsToken, isRealtimeOffered } =
    settings;
  const keyCheck = (authentication: Authentication) => {
    const authenticate = createAuthenticator(authentication);
    return async (context: Context): Promise<Caller> => {
      const caller = await authenticate(context);
      return authentication.forText
        ? requestLimit.deferCounting(context, caller)
        : requestLimit.enforce(context, caller);
    };
  };
  const text = { findCaller: findTextCaller, clock, forText: true };
  const checkKey = keyCheck({ findCaller, clock });
  const assertRealtime = (): void => {
    if (!isRealtimeOffered()) throw realtimeDisabled();
  };
  return {
    key: checkKey,
    'create-key': keyCheck({ findCaller, clock, canBeExhausted: true }),
    'any-key': keyCheck({ findCaller, clock, places: ANY_PLACES }),
    'text-key': keyCheck(text),
    'messages-key': keyCheck({ ...text, places: MESSAGES_PLACES }),
    'native-key': keyCheck({ ...text, places: NATIVE_PLACES }),
    'realtime-key': async (context) => {
      assertRealtime();
      return checkKey(context);
    },
    realtime: async () => {
      assertRealtime();
      return null;
    },
    admin: requireRole(findAdministrator, ROLES.admin),
    'admin-finance': requireRole(findAdministrator, ROLES['admin-finance']),
    'admin-read': requireRole(findAdministrator, ROLES['admin-read']),
    metrics: requireToken(metricsToken, METRICS_REFUSAL),
    open: async () => null,
  };
}

/** Requires an admin token with one of the roles, and records its holder in `state.administrator`. */
function requireRole(
  find: FindAdministrator,
  roles: readonly AdminRole[],
): (context: Context) => Promise<Administrator> {
  return async (context) => {
    const administrator = await find(credentialOf(context));
    if (!administrator) throw new ServiceError('invalid_api_key', WRONG_ADMIN_TOKEN);
    context.state.administrator = administrator;
    if (roles.includes(administrator.role)) return administrator;
    const { name, role } = administrator;
    const needed = roles.join(' or ');
    throw new ServiceError('forbidden', `The admin token of ${name} has the role ${role}; this call needs ${needed}.`);
  };
}
