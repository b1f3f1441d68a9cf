/** Endpoints that show the requests of the simulator, for tests and people: `/_sim/…`. */
import { summariseJob } from './jobs/job.ts';
import type { JobStore } from './jobs/store.ts';
import type { RequestLog } from './request-log.ts';
import { Refusal, type Route, route, sendJson, type SimulatorRequest } from './router.ts';

export const INSPECTION_PREFIX = '/_sim/';

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 2000;

export function inspectionRoutes(
  store: JobStore,
  log: RequestLog,
  realtime: { readonly finished: readonly object[]; readonly calls: { readonly ids: readonly string[] } },
): readonly Route[] {
  return [
    route('GET', `${INSPECTION_PREFIX}health`, (_request, response) => sendJson(response, 200, { status: 'ok' })),
    route('GET', `${INSPECTION_PREFIX}requests`, (request, response) =>
      sendJson(response, 200, { data: log.latest(limitOf(request)) }),
    ),
    route('GET', `${INSPECTION_PREFIX}realtime`, (_request, response) =>
      sendJson(response, 200, { data: realtime.finished, calls: realtime.calls.ids }),
    ),
    route('GET', `${INSPECTION_PREFIX}jobs`, (request, response) => {
      const key = request.url.searchParams.get('key');
      const jobs =
        key === null ? store.latest(limitOf(request)) : [store.byKey(key)].filter((job) => job !== undefined);
      sendJson(response, 200, { data: jobs.map((job) => summariseJob(job, Date.now())) });
    }),
  ];
}

function limitOf(request: SimulatorRequest): number {
  const text = request.url.searchParams.get('limit') ?? String(DEFAULT_LIMIT);
  const limit = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (limit < 1) throw new Refusal(400, 'bad_request', '"limit" must be a whole number from 1');
  return Math.min(limit, MAX_LIMIT);
}
