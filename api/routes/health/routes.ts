/** For load balancers and orchestrators: contract 4.12. */
import type { Readiness } from '../../../telemetry/health.ts';
import { json } from '../../endpoint/answers.ts';
import { endpoint } from '../../endpoint/endpoint.ts';
import { exactly, fieldsOf, object, oneOfTexts } from '../../openapi/json-schema.ts';

/** The process runs and answers. Depends on nothing else: what is wrong elsewhere is not healed by a restart. */
export const isAlive = endpoint({
  id: 'isAlive',
  tag: 'Service',
  method: 'get',
  path: '/healthz',
  access: 'open',
  summary: 'Whether the process runs',
  answers: { 200: { description: 'It does', content: json(object({ status: exactly('ok') })) } },
  handle: ({ context }) => {
    context.set('Cache-Control', 'no-store');
    return { status: 'ok' };
  },
});

const READINESS = json(
  object(
    fieldsOf<Readiness>({
      status: oneOfTexts(['ready', 'degraded', 'not_ready'], '`degraded`: tasks are created, and start later'),
      database: oneOfTexts(['ok', 'unreachable', 'migrations_pending', 'partitions_missing', 'clocks_differ']),
      temporal: oneOfTexts(['ok', 'unreachable']),
    }),
  ),
);

export const isReady = endpoint({
  id: 'isReady',
  tag: 'Service',
  method: 'get',
  path: '/readyz',
  access: 'open',
  summary: 'Whether the process should get requests',
  answers: {
    200: { description: 'It should', content: READINESS },
    503: { description: 'It should not', content: READINESS },
  },
  handle: async ({ context }, { checkHealth }) => {
    const health = await checkHealth();
    context.set('Cache-Control', 'no-store');
    if (health.status === 'not_ready') context.status = 503;
    return health;
  },
});
