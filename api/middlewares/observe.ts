import type { Logger } from 'pino';
import { isId } from '../../domain/ids.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { Tracing } from '../../telemetry/tracing.ts';
import type { AppContext } from '../state.ts';

/** Asked every few seconds by machines; their lines would hide the others. */
const PROBES: ReadonlySet<string | undefined> = new Set(['/healthz', '/readyz', '/metrics']);
/** The methods that clients use; any other shares a label. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PATCH', 'DELETE', 'OPTIONS']);

/**
 * Measures each request, and writes one line about it when it has ended: who asked, for what, and how it went. Bodies,
 * prompts, headers and query strings are left out, since any of them may hold a secret or a person's words.
 */
export function observe({ metrics, tracing, log }: { metrics: Metrics; tracing: Tracing; log: Logger }) {
  return async (context: AppContext, next: () => Promise<unknown>): Promise<void> => {
    const receivedAtMs = performance.now();
    context.state.receivedAtMs = receivedAtMs;
    context.res.once('close', () => {
      const durationMs = performance.now() - receivedAtMs;
      const method = METHODS.has(context.method) ? context.method : 'other';
      const route = routeOf(context);
      const { statusCode: status, writableFinished } = context.res;
      const { requestId } = context.state;
      const accountId = context.state.caller?.account.id;
      const taskId = taskIdOf(context);
      metrics.requestEnded({ method, route, status, seconds: durationMs / 1000 });
      tracing.describeRequest(context.res, { route, requestId, accountId, taskId });
      const level = isRemarkable(context) ? 'info' : 'debug';
      if (!log.isLevelEnabled(level)) return;
      log[level](
        {
          request_id: requestId,
          account_id: accountId,
          task_id: taskId,
          method,
          route,
          status,
          duration_ms: Math.round(durationMs * 10) / 10,
          // The client, or this process stopping, ended the connection before the answer.
          ...(!writableFinished && { cut_off: true }),
        },
        'request',
      );
    });
    await next();
  };
}

/** Whether the log needs a line. Text that was served is in the usage table, with all that is known of it. */
function isRemarkable({ state: { endpoint }, res }: AppContext): boolean {
  return endpoint?.tag === 'Text' ? res.statusCode >= 400 : !PROBES.has(endpoint?.path);
}

/** The path of the endpoint with its parameters unfilled: paths themselves hold ids, and anything a client may think of. */
function routeOf(context: AppContext): string {
  if (context.state.endpoint) return context.state.endpoint.path;
  if ('routerPath' in context && typeof context['routerPath'] === 'string') return context['routerPath'];
  return pathOf(context).startsWith('/files/') ? '/files/*' : 'unmatched';
}

/** The task that the path names, or that was created. */
function taskIdOf(context: AppContext): string | undefined {
  const named = pathOf(context)
    .split('/')
    .find((part) => isId('task', part));
  return named ?? context.state.createdTaskId;
}

/** As the client sent it: Koa's own `path` throws for a target that is no address, and nothing here would catch that. */
function pathOf({ req }: AppContext): string {
  return (req.url ?? '').split('?', 1)[0] ?? '';
}
