/** What middlewares leave on a request for those after them. */
import type Koa from 'koa';
import type { RouterContext } from '@koa/router';
import type { Caller } from '../db/queries/api-keys.ts';

export interface RequestState {
  /** Correlates the response, the logs and the task; also sent as `x-request-id`. */
  requestId: string;
  /** Set by `authenticate`. */
  caller?: Caller;
  /** Set where a task is created, for the log. */
  createdTaskId?: string;
}

export type Context = RouterContext<RequestState>;
export type AppContext = Koa.ParameterizedContext<RequestState>;

/** The authenticated caller. @throws Error on a route that forgot to authenticate */
export function callerOf(context: Context): Caller {
  if (!context.state.caller) throw new Error(`${context.path} is served without authentication`);
  return context.state.caller;
}
