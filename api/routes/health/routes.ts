/** For load balancers and orchestrators: contract 4.12. */
import type { Readiness } from '../../../telemetry/health.ts';
import { json } from '../../endpoint/answers.ts';
import { endpoint, endpoints } from '../../endpoint/endpoint.ts';
import { exactly, object, objectOf, oneOfTexts } from '../../../domain/json-schema.ts';

const READINESS = json(
  objectOf<Readiness>({
    status: oneOfTexts(['ready', 'degraded', 'not_ready'], '`degraded`: accepts tasks, which start later'),
    database: oneOfTexts(['ok', 'unreachable', 'migrations_pending', 'partitions_missing', 'clocks_differ']),
    temporal: oneOfTexts(['ok', 'unreachable']),
  }),
);

export const healthEndpoints = endpoints('Service', {
  /** Whether the process runs. Checks no dependency, because a restart would not mend one. */
  isAlive: endpoint({
    request: 'GET /healthz',
    access: 'open',
    summary: 'Check that the process runs',
    answers: { 200: { description: 'The process runs', content: json(object({ status: exactly('ok') })) } },
    handle: ({ context }) => {
      context.set('Cache-Control', 'no-store');
      return { status: 'ok' };
    },
  }),
  isReady: endpoint({
    request: 'GET /readyz',
    access: 'open',
    summary: 'Check that the process accepts requests',
    answers: {
      200: { description: 'The process is ready', content: READINESS },
      503: { description: 'The process is not ready', content: READINESS },
    },
    handle: async ({ context }, { operations: { checkHealth } }) => {
      const health = await checkHealth();
      context.set('Cache-Control', 'no-store');
      if (health.status === 'not_ready') context.status = 503;
      return health;
    },
  }),
});
