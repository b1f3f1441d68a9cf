/** What middlewares leave on a request for those after them. */
import type Koa from 'koa';
import type { RouterContext } from '@koa/router';
import type { Caller } from '../db/queries/api-keys.ts';
import type { ServiceError } from '../domain/errors.ts';
import type { Operation } from './openapi/operation.ts';
import type { Administrator } from './services/administrator.ts';

export interface RequestState {
  /** Correlates the response, the logs and the task; also sent as `x-request-id`. */
  requestId: string;
  /** When the request came, by `performance.now()`. Set by `observe`. */
  receivedAtMs: number;
  /** The endpoint that answers. */
  endpoint?: Pick<Operation, 'path' | 'tag'>;
  /** The envelope of errors, where it is not the common one. */
  presentError?: (error: ServiceError, requestId: string) => object;
  /** Set by the rules of access that ask for a key. */
  caller?: Caller;
  /** Set by the rules of access that ask for an admin token. */
  administrator?: Administrator;
  /** Set where a task is created, for the log. */
  createdTaskId?: string;
}

export type Context = RouterContext<RequestState>;
export type AppContext = Koa.ParameterizedContext<RequestState>;
