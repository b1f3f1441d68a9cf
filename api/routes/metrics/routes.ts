import type Router from '@koa/router';
import { type Metrics, METRICS_CONTENT_TYPE, METRICS_REFUSAL } from '../../../telemetry/metrics.ts';
import { requireToken } from '../../middlewares/admin.ts';
import type { RequestState } from '../../state.ts';

export interface MetricsDependencies {
  readonly metrics: Metrics;
  /** What Prometheus shows as its bearer token. */
  readonly metricsToken: string;
}

/** For Prometheus, which sends the token: what it reads is nothing for the clients of a public address. */
export function metricsRoutes(router: Router<RequestState>, { metrics, metricsToken }: MetricsDependencies): void {
  router.get('/metrics', requireToken(metricsToken, METRICS_REFUSAL), async (context) => {
    context.set('Content-Type', METRICS_CONTENT_TYPE);
    context.body = await metrics.render();
  });
}
