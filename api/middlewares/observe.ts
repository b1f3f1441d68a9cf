import type { Logger } from 'pino';
import { isId } from '../../domain/ids.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { Tracing } from '../../telemetry/tracing.ts';
import type { Overload } from '../overload.ts';
import type { AppContext } from '../state.ts';

/** Machines call these every few seconds; logging them would bury the other lines. */
const PROBES: ReadonlySet<string | undefined> = new Set(['/healthz', '/readyz', '/metrics']);
/** The methods that clients use; all others share one label. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PATCH', 'DELETE', 'OPTIONS']);

/** The connection of such a response continues as a WebSocket. */
const UPGRADED = 101;
/** The client left before the answer: as nginx writes it. */
const LEFT = 499;

interface Observers {
  readonly metrics: Metrics;
  readonly tracing: Tracing;
  readonly log: Logger;
  readonly overload?: Overload | undefined;
}

/**
 * Measures each request and logs one line when it completes: the account, the key, the route, the status and the code. Bodies, prompts,
 * headers and query strings are never logged, because any of them may contain a secret or personal data.
 */
export function observe({ metrics, tracing, log, overload }: Observers) {
  return (context: AppContext, next: () => Promise<unknown>): Promise<unknown> => {
    const receivedAtMs = performance.now();
    context.state.receivedAtMs = receivedAtMs;
    context.res.once('close', () => {
      const durationMs = performance.now() - receivedAtMs;
      const method = METHODS.has(context.method) ? context.method : 'other';
      const route = routeOf(context);
      const { statusCode, headersSent, writableFinished } = context.res;
      // Until an answer is sent, Koa's status is 404.
      const status = headersSent || statusCode === UPGRADED ? statusCode : LEFT;
      const { requestId, apiKey, model, errorCode } = context.state;
      const account = context.state.caller?.account;
      if (account) overload?.learn(context.req, account);
      const accountId = account?.id ?? apiKey?.accountId;
      const taskId = taskIdOf(context);
      metrics.requestEnded({ method, route, status, seconds: durationMs / 1000 });
      tracing.describeRequest(context.res, { route, requestId, accountId, taskId });
      const level = isLoggedAtInfo(context) ? 'info' : 'debug';
      if (!log.isLevelEnabled(level)) return;
      log[level](
        {
          request_id: requestId,
          account_id: accountId,
          api_key_id: apiKey?.id,
          model,
          task_id: taskId,
          method,
          route,
          status,
          error_code: errorCode,
          duration_ms: Math.round(durationMs * 10) / 10,
          // The client, or this process while stopping, closed the connection before the answer was complete.
          ...(!writableFinished && status !== UPGRADED && { cut_off: true }),
        },
        'request',
      );
    });
    return next();
  };
}

/** Whether to log the request at info level. Text that was served has its own row in the usage table. */
function isLoggedAtInfo({ state: { endpoint }, res }: AppContext): boolean {
  return endpoint?.tag === 'Text' ? res.statusCode >= 400 : !PROBES.has(endpoint?.path);
}

/** The endpoint's path template: actual paths contain ids and arbitrary client input. */
function routeOf(context: AppContext): string {
  if (context.state.endpoint) return context.state.endpoint.path;
  if ('routerPath' in context && typeof context['routerPath'] === 'string') return context['routerPath'];
  return pathOf(context).startsWith('/files/') ? '/files/*' : 'unmatched';
}

/** The task that the path names, or that the request created. */
function taskIdOf(context: AppContext): string | undefined {
  const named = pathOf(context)
    .split('/')
    .find((part) => isId('task', part));
  return named ?? context.state.createdTaskId;
}

/** The path as sent: Koa's own `path` throws for an invalid target, and nothing here would catch it. */
function pathOf({ req }: AppContext): string {
  return (req.url ?? '').split('?', 1)[0] ?? '';
}
