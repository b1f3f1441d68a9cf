/**
 * Measures what a dead upstream with an open circuit costs requests that have another one. Requests with the dead
 * upstream first in their routes alternate with requests without it, over the same connections. Prints one JSON line
 * for each way of being dead.
 */
import type { RequestListener } from 'node:http';
import { createTextUpstreams, type TextUpstreams } from '../../providers/text/text-upstreams.ts';
import { Meter } from '../../text/meter.ts';
import { baseUrlsAt } from '../../providers/text/settings.ts';
import { CancelSignal } from '../../providers/text/cancel-signal.ts';
import type { UpstreamRoute } from '../../providers/text/candidates.ts';
import { serveLocally } from '../stack/local-server.ts';
import { measureByTurns } from './load/by-turns.ts';

const PAIRS = 3_000;
const WARM_UP_PAIRS = 300;
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
  const live = await serveLocally((request, response) => {
    request.resume();
    response.setHeader('content-type', 'application/json');
    response.end('{"choices":[{"message":{"content":"hello"},"finish_reason":"stop"}]}');
  });
  const dead = await serveLocally(listener ?? (() => {}));
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
  const either = { alone: () => ask(upstreams, [LIVE]), withDead: () => ask(upstreams, [DEAD, LIVE]) };
  try {
    await measureByTurns(either, WARM_UP_PAIRS);
    deadAsked = 0;
    const figures = await measureByTurns(either, PAIRS);
    return { dead_upstream: death, ...figures, times_the_dead_one_was_asked: deadAsked };
  } finally {
    await upstreams.close();
    await live.close();
    if (listener !== null) await dead.close();
  }
}

async function ask(upstreams: TextUpstreams, routes: readonly UpstreamRoute[]): Promise<void> {
  const signal = new CancelSignal();
  await upstreams.call({
    body: {},
    requestId: 'bench',
    routes,
    account: 'bench',
    affinity: 'bench',
    isCached: false,
    maxAnswerTokens: null,
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
