import type { TextCall } from './admit.ts';
import type { TextServices } from './services.ts';

/**
 * Measures a call when it has ended. Served ones are in the usage table with all that is known of them, so only the others
 * get a line in the log by default.
 */
export function observe(
  { target, request, response, requestId }: TextCall,
  { metrics, tracing, log }: TextServices,
): void {
  const startedAtMs = performance.now();
  const { route } = target.endpoint;
  response.once('close', () => {
    const durationMs = performance.now() - startedAtMs;
    const { statusCode: status, writableFinished } = response;
    const method = request.method === 'POST' ? 'POST' : 'other';
    metrics.requestEnded({ method, route, status, seconds: durationMs / 1000 });
    tracing.describeRequest(response, { route, requestId });
    const level = status < 400 ? 'debug' : 'info';
    if (!log.isLevelEnabled(level)) return;
    log[level](
      {
        request_id: requestId,
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
}
