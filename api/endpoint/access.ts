/** Who may call an endpoint: contract 5. The rule that an endpoint names lets a request in, or refuses it. */
import type { Caller } from '../../db/queries/api-keys.ts';
import { type Authentication, createAuthenticator, EVERY_CREDENTIAL_HEADER } from '../middlewares/authenticate.ts';
import { type CountRequest, createRequestLimit } from '../middlewares/limit-requests.ts';
import { METRICS_REFUSAL } from '../../telemetry/metrics.ts';
import { requireToken } from '../middlewares/require-token.ts';
import type { Context } from '../state.ts';

/** Each rule, and whom it lets in: the owner of an API key, or nobody in particular. */
export interface CallerBy {
  /** An API key as a bearer token. Keys are held to a number of requests a minute. */
  readonly key: Caller;
  /** An API key in the header of any text format, for calls that clients of all of them make. */
  readonly 'any-key': Caller;
  /** The token of the operators. */
  readonly admin: null;
  /** The token of Prometheus. */
  readonly metrics: null;
  readonly open: null;
}

export type Access = keyof CallerBy;

/** Each lets a request in or throws a ServiceError: 401, 403 or 429. */
export type Gates = { readonly [Rule in Access]: (context: Context) => Promise<CallerBy[Rule]> };

export interface GateSettings extends Authentication {
  readonly countRequest: CountRequest;
  readonly adminToken: string;
  readonly metricsToken: string;
}

export function createGates({ countRequest, adminToken, metricsToken, ...authentication }: GateSettings): Gates {
  const authenticate = createAuthenticator(authentication);
  const authenticateAnyFormat = createAuthenticator(authentication, EVERY_CREDENTIAL_HEADER);
  const holdToLimit = createRequestLimit(countRequest);
  return {
    key: async (context) => holdToLimit(context, await authenticate(context)),
    'any-key': async (context) => holdToLimit(context, await authenticateAnyFormat(context)),
    admin: requireToken(adminToken, 'The admin token is wrong. It is the value of GENWAY_ADMIN_TOKEN.'),
    metrics: requireToken(metricsToken, METRICS_REFUSAL),
    open: async () => null,
  };
}
