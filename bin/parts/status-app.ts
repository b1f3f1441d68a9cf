/** The Koa application of a process that serves no clients: liveness, readiness and metrics. */
import Koa, { type Context } from 'koa';
import type { Logger } from 'pino';
import { keyRefusalError } from '../../domain/api-key.ts';
import { errorHeaders, presentError } from '../../domain/error-envelope.ts';
import { methodNotAllowed, ServiceError, toServiceError } from '../../domain/errors.ts';
import { newId } from '../../domain/ids.ts';
import { bearerTokenOf, createTokenCheck } from '../../domain/bearer-token.ts';
import { createHealthCheck, type HealthDependencies } from '../../telemetry/health.ts';
import { type Metrics, METRICS_CONTENT_TYPE, METRICS_REFUSAL } from '../../telemetry/metrics.ts';

export interface StatusDependencies extends HealthDependencies {
  readonly metrics: Metrics;
  /** The bearer token that Prometheus sends. */
  readonly metricsToken: string;
  readonly log: Logger;
}

export function createStatusApp({ metrics, metricsToken, log, ...dependencies }: StatusDependencies): Koa {
  const checkHealth = createHealthCheck(dependencies);
  const isMetricsToken = createTokenCheck(metricsToken);

  const pages: Readonly<Record<string, (context: Context) => Promise<void>>> = {
    '/healthz': async (context) => {
      context.body = { status: 'ok' };
    },
    '/readyz': async (context) => {
      const health = await checkHealth();
      context.status = health.status === 'not_ready' ? 503 : 200;
      context.body = health;
    },
    '/metrics': async (context) => {
      const token = bearerTokenOf(context.headers);
      if (token === undefined) throw keyRefusalError('key_missing');
      if (!isMetricsToken(token)) throw new ServiceError('invalid_api_key', METRICS_REFUSAL);
      context.set('Content-Type', METRICS_CONTENT_TYPE);
      context.body = await metrics.render();
    },
  };

  const app = new Koa();
  app.silent = true;
  app.use(async (context) => {
    const requestId = newId('request');
    context.set({ 'x-request-id': requestId, 'Cache-Control': 'no-store' });
    try {
      const path = context.req.url?.split('?', 1)[0] ?? '';
      const page = pages[path];
      if (!page) throw new ServiceError('not_found', `There is no ${context.method} ${path}. Check the path.`);
      if (context.method !== 'GET' && context.method !== 'HEAD') {
        throw methodNotAllowed(context.method, path, 'GET, HEAD');
      }
      await page(context);
    } catch (error) {
      const shown = toServiceError(error);
      if (shown !== error) log.error({ err: error, request_id: requestId }, 'request failed');
      context.set(errorHeaders(shown));
      context.status = shown.status;
      context.body = presentError(shown, requestId);
    }
  });
  return app;
}
