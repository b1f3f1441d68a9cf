/**
 * Measures the cost of a dead upstream to requests that have another one, when its circuit is open. Requests with the dead upstream first
 * in their routes take turns with requests that only know the other one, over the same connections. Prints one JSON line for
 * each way of being dead.
 */
import { createServer, type RequestListener } from 'node:http';
import { createTextUpstreams, type TextUpstreams } from '../../providers/text/text-upstreams.ts';
import { Meter } from '../../text/meter.ts';
import { baseUrlsAt } from '../../providers/text/settings.ts';
import { CancelSignal } from '../../providers/text/cancel-signal.ts';
import type { UpstreamRoute } from '../../providers/text/candidates.ts';
import { percentile, rounded } from './statistics.ts';

const PAIRS = 3_000;
const WARM_UP_PAIRS = 300;
const CLIENTS = 4;
const MAX_ANSWER_BYTES = 65_536;
const SILENCE_MS = 60_000;
const FIRST_BYTE_TIMEOUT_MS = 500;

const LIVE: UpstreamRoute = { provider: 'live', format: 'chat-completions', model: 'm', order: 1, weight: 1 };
const DEAD: UpstreamRoute = { ...LIVE, provider: 'dead', order: 0, firstByteTimeoutMs: FIRST_BYTE_TIMEOUT_MS };

const DEATHS: Readonly<Record<string, RequestListener | null>> = {
  'refuses connections': null,
  'answers 500': (request, response) => {
    request.resume();
    response.writeHead(500).end('{}');
  },
  'resets connections': (request) => request.socket.resetAndDestroy(),
};

for (const [death, listener] of Object.entries(DEATHS)) console.log(JSON.stringify(await measure(death, listener)));

async function measure(death: string, listener: RequestListener | null): Promise<object> {
  const live = await serve((request, response) => {
    request.resume();
    response.setHeader('content-type', 'application/json');
    response.end('{"choices":[{"message":{"content":"hello"},"finish_reason":"stop"}]}');
  });
  const dead = await serve(listener ?? (() => {}));
  if (listener === null) await dead.close();
  let deadAsked = 0;
  const upstreams = createTextUpstreams(
    [
      { name: 'live', apiKeys: ['k'], baseUrls: baseUrlsAt(live.url) },
      { name: 'dead', apiKeys: ['k'], baseUrls: baseUrlsAt(dead.url) },
    ],
    SILENCE_MS,
    {
      traced: (_name, dispatcher) => dispatcher,
      answered: (name) => void (deadAsked += name === 'dead' ? 1 : 0),
      attempted: () => {},
    },
  );
  const latencies = { alone: [] as number[], withDead: [] as number[] };
  try {
    await pairs(upstreams, WARM_UP_PAIRS, { alone: [], withDead: [] });
    deadAsked = 0;
    await pairs(upstreams, PAIRS, latencies);
  } finally {
    await upstreams.close();
    await live.close();
    if (listener !== null) await dead.close();
  }
  const at = (share: number) => [percentile(latencies.alone, share), percentile(latencies.withDead, share)] as const;
  const [[aloneP50, deadP50], [aloneP95, deadP95]] = [at(0.5), at(0.95)];
  return {
    dead_upstream: death,
    added_p50_ms: rounded(deadP50 - aloneP50, 2),
    added_p95_ms: rounded(deadP95 - aloneP95, 2),
    p95_ms: rounded(deadP95, 2),
    p95_alone_ms: rounded(aloneP95, 2),
    ratio_of_p95: rounded(deadP95 / aloneP95, 2),
    requests_each: PAIRS,
    times_the_dead_one_was_asked: deadAsked,
  };
}

/** Each client sends one request of each kind in turn, the other kind first each time. */
async function pairs(
  upstreams: TextUpstreams,
  count: number,
  { alone, withDead }: { readonly alone: number[]; readonly withDead: number[] },
): Promise<void> {
  const kinds = [
    { routes: [LIVE], latencies: alone },
    { routes: [DEAD, LIVE], latencies: withDead },
  ] as const;
  await Promise.all(
    Array.from({ length: CLIENTS }, async () => {
      for (let pair = 0; pair < count / CLIENTS; pair += 1) {
        for (const { routes, latencies } of pair % 2 === 0 ? kinds : kinds.toReversed()) {
          const startedAt = performance.now();
          await ask(upstreams, routes);
          latencies.push(performance.now() - startedAt);
        }
      }
    }),
  );
}

async function ask(upstreams: TextUpstreams, routes: readonly UpstreamRoute[]): Promise<void> {
  const signal = new CancelSignal();
  await upstreams.call({
    body: {},
    requestId: 'bench',
    routes,
    account: 'bench',
    affinity: 'bench',
    streamed: false,
    signal,
    left: signal,
    prepare: ({ model }) => ({
      upstreamRequest: { path: '/chat/completions', headers: {}, body: { model, messages: [] } },
      meter: new Meter(),
    }),
    begin: async (answer) => void (await answer.readAll(MAX_ANSWER_BYTES)),
    readOn: async () => {},
  });
}

async function serve(listener: RequestListener): Promise<{ readonly url: string; close(): Promise<void> }> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => void server.close(resolve));
    },
  };
}
