/** The state that a middleware passes to later ones. */
import type Koa from 'koa';
import type { ApiKey, Caller } from '../db/queries/api-keys.ts';
import type { UncountedRequest } from '../db/text-money/billing.ts';
import type { ErrorCode, ServiceError } from '../domain/errors.ts';
import type { Operation } from './openapi/operation.ts';
import type { Administrator } from '../services/people/administrator.ts';

/** Renders an error. @param publicUrl the address of the api, for links */
export type PresentError = (error: ServiceError, requestId: string, publicUrl: string) => object;

export interface RequestState {
  /** Correlates the response, the logs and the task; also sent as `x-request-id`. */
  requestId: string;
  /** When the request arrived, by `performance.now()`. Set by `observe`. */
  receivedAtMs: number;
  /** The parameters of the query. Set by `requestTarget`. */
  query: URLSearchParams;
  /** The endpoint that answers. */
  endpoint?: Pick<Operation, 'path' | 'tag'>;
  /** Set if the endpoint changes nothing and costs nothing, although its method suggests a change. */
  isRead?: boolean;
  /** Renders errors, if they do not have the common envelope. */
  presentError?: PresentError;
  /** The key of the request, even if an access rule refuses the key. */
  apiKey?: Pick<ApiKey, 'id' | 'accountId'>;
  /** Set by access rules that require a key. */
  caller?: Caller;
  /** Set by access rules for text until the request is counted against its key's limit. */
  uncounted?: UncountedRequest | undefined;
  /** Set by access rules that require an admin token. */
  administrator?: Administrator;
  /** The model that the request names, for the log. */
  model?: string | undefined;
  /** The code of the error that the request is answered with, for the log. */
  errorCode?: ErrorCode;
  /** Set when a task is created, for the log. */
  createdTaskId?: string;
}

export type AppContext = Koa.ParameterizedContext<RequestState>;
/** With the parameters of the path. */
export type Context = Koa.ParameterizedContext<RequestState, { params: Readonly<Record<string, string>> }>;
