/** For load balancers and orchestrators: whether this process lives, and whether it should get requests. */
import type Router from '@koa/router';
import { createHealthCheck, type HealthDependencies } from '../../../telemetry/health.ts';
import type { RequestState } from '../../state.ts';

export function healthRoutes(router: Router<RequestState>, dependencies: HealthDependencies): void {
  const checkHealth = createHealthCheck(dependencies);

  /** The process runs and answers. Depends on nothing else: what is wrong elsewhere is not healed by a restart. */
  router.get('/healthz', (context) => {
    context.set('Cache-Control', 'no-store');
    context.body = { status: 'ok' };
  });

  router.get('/readyz', async (context) => {
    const health = await checkHealth();
    context.set('Cache-Control', 'no-store');
    context.status = health.status === 'not_ready' ? 503 : 200;
    context.body = health;
  });
}
