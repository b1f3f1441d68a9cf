/** Who may call an endpoint: contract 5. */
import type { Caller } from '../../db/queries/api-keys.ts';
import { type AdminRole, STAFF_PERMISSIONS } from '../../domain/roles.ts';
import type { Administrator } from '../../services/people/administrator.ts';

/** Each access rule, with the caller that it admits; null if the rule identifies no caller. Keys are rate limited. */
export interface CallerBy {
  /** An API key as a bearer token; an exhausted one may only read. */
  readonly key: Caller;
  /** Like `key`, for idempotent create calls, which answer a repeated request before they refuse an exhausted key. */
  readonly 'create-key': Caller;
  /** An API key in the header of any text format, for calls that clients of every format make. */
  readonly 'any-key': Caller;
  /** An API key for text, as a bearer token. */
  readonly 'text-key': Caller;
  /** An API key for text, also accepted where clients of the messages format send it. */
  readonly 'messages-key': Caller;
  /** An API key for text, also accepted where clients of the native format send it. */
  readonly 'native-key': Caller;
  /** Like `key`, where realtime sessions are offered. */
  readonly 'realtime-key': Caller;
  /** An API key or a client secret, which the endpoint checks, where realtime sessions are offered: contract 4.16. */
  readonly realtime: null;
  /** An admin token with one of the {@link ROLES} of the rule. */
  readonly admin: Administrator;
  readonly 'admin-finance': Administrator;
  readonly 'admin-read': Administrator;
  /** Prometheus's token. */
  readonly metrics: null;
  readonly open: null;
}

export type Access = keyof CallerBy;

/** The roles that each rule for admin tokens admits. */
export const ROLES = {
  admin: STAFF_PERMISSIONS.operate,
  'admin-finance': STAFF_PERMISSIONS.moveMoney,
  'admin-read': STAFF_PERMISSIONS.read,
} as const satisfies Partial<Record<Access, readonly AdminRole[]>>;
