/** The Koa application of a process that serves no clients: how it is. */
import { Router } from '@koa/router';
import Koa from 'koa';
import type { Logger } from 'pino';
import { NO_TRACING } from '../telemetry/tracing.ts';
import { errors } from './middlewares/errors.ts';
import { observe } from './middlewares/observe.ts';
import { requestId } from './middlewares/request-id.ts';
import { unmatched } from './middlewares/unmatched.ts';
import { type HealthDependencies, healthRoutes } from './routes/health/routes.ts';
import { type MetricsDependencies, metricsRoutes } from './routes/metrics/routes.ts';
import type { RequestState } from './state.ts';

export interface StatusDependencies extends HealthDependencies, MetricsDependencies {
  readonly log: Logger;
}

export function createStatusApp({ log, ...dependencies }: StatusDependencies): Koa<RequestState> {
  const router = new Router<RequestState>();
  healthRoutes(router, dependencies);
  metricsRoutes(router, dependencies);
  const app = new Koa<RequestState>();
  app.silent = true;
  app.use(requestId);
  app.use(observe({ metrics: dependencies.metrics, tracing: NO_TRACING, log }));
  app.use(errors(log));
  app.use(router.routes());
  app.use(unmatched(router));
  return app;
}
