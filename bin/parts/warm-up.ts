/**
 * Answers requests of this process to itself before the process serves clients. V8 compiles a function for speed only after
 * the function has run many times: without a warm-up, a request of the first second takes three times the processor time
 * of a later request. The requests take the way of a client's request through the application, in every
 * format, whole and streamed, with an upstream in this process. They read no database and move no money.
 */
import pino from 'pino';
import { Agent, request } from 'undici';
import { createTextApp } from '../../api/app.ts';
import { listen } from '../../api/http-server.ts';
import type { AppDependencies } from '../../api/services.ts';
import { MACHINE_CLOCK } from '../../db/database-clock.ts';
import { WIRE_FORMAT_NAMES } from '../../domain/wire-format-name.ts';
import { baseUrlsAt } from '../../providers/text/settings.ts';
import { createTextUpstreams } from '../../providers/text/text-upstreams.ts';
import { createTextServiceOf } from '../../services/text/text-service.ts';
import { NO_TRACING } from '../../telemetry/tracing.ts';
import {
  NAME,
  NO_STORED_RESPONSES,
  startWarmUpUpstream,
  type Trial,
  trialOf,
  warmUpBilling,
  warmUpCaller,
  warmUpCatalogue,
} from './warm-up-traffic.ts';

/** The end of the warm-up, if the machine is slow. */
const WARM_UP_MS = 2_500;
const REQUESTS = 4_000;
const REQUESTS_AT_ONCE = 16;
/** Longer than any part of the warm-up takes. */
const TIMEOUT_MS = 10_000;
const HOST = '127.0.0.1';

/**
 * Warms up until 4,000 requests are answered, or the time is over.
 *
 * @returns the number of answered requests
 * @throws Error if a request fails
 */
export async function warmUp(dependencies: AppDependencies, limitMs = WARM_UP_MS): Promise<number> {
  const catalogue = warmUpCatalogue(dependencies.catalogue());
  if (catalogue === null) return 0;
  const upstream = await startWarmUpUpstream();
  const log = pino({ level: 'silent' });
  const upstreams = createTextUpstreams(
    [{ name: NAME, apiKeys: [NAME], baseUrls: baseUrlsAt(upstream.url) }],
    TIMEOUT_MS,
    { traced: (_name, dispatcher) => dispatcher, answered: () => {}, attempted: () => {} },
  );
  const text = createTextServiceOf(
    {
      catalogue,
      upstreams,
      assertEnabled: () => {},
      search: null,
      findPrices: async () => null,
      findBudgets: async () => [],
      hasCredit: async () => true,
      billing: warmUpBilling(),
      responses: NO_STORED_RESPONSES,
      clock: MACHINE_CLOCK,
      log,
      settings: { cutoffMs: null, keepAliveMs: TIMEOUT_MS, stallMs: TIMEOUT_MS, readOnMs: TIMEOUT_MS },
    },
    dependencies.text.realtime,
  );
  const caller = warmUpCaller();
  const { overload: _, refusals: __, ...given } = dependencies;
  const app = createTextApp({
    ...given,
    text,
    log,
    metrics: { ...dependencies.metrics, requestEnded: () => {} },
    tracing: NO_TRACING,
    catalogue: () => catalogue,
    findTextCaller: async () => caller,
  });
  const server = await listen(app.callback(), HOST, 0);
  const agent = new Agent({ connections: REQUESTS_AT_ONCE });
  try {
    const send = (trial: Trial): Promise<string> => sendTo(`http://${HOST}:${server.port}`, agent, trial);
    for (const format of WIRE_FORMAT_NAMES.slice(1)) {
      for (const isStream of [false, true]) {
        // The application's answer in a format serves as the answer of an upstream with this format.
        const answer = await send(trialOf(format, 'chat-completions', isStream));
        upstream.answer(trialOf(format, format, isStream), isStream, answer);
      }
    }
    return await sendFor(limitMs, send);
  } finally {
    await agent.destroy();
    await server.stop(0);
    await upstreams.close();
    await upstream.stop();
  }
}

/** Every format, to an upstream with the same format and to one with chat completions, whole and streamed. */
const TRIALS = WIRE_FORMAT_NAMES.flatMap((format) =>
  [...new Set([format, 'chat-completions'] as const)].flatMap((route) =>
    [false, true].map((isStream) => trialOf(format, route, isStream)),
  ),
);

async function sendFor(limitMs: number, send: (trial: Trial) => Promise<string>): Promise<number> {
  const untilMs = performance.now() + limitMs;
  let sent = 0;
  const sendInTurn = async (): Promise<void> => {
    while (sent < REQUESTS && performance.now() < untilMs) {
      const trial = TRIALS[sent % TRIALS.length];
      sent += 1;
      if (trial) await send(trial);
    }
  };
  await Promise.all(Array.from({ length: REQUESTS_AT_ONCE }, sendInTurn));
  return sent;
}

async function sendTo(url: string, agent: Agent, { path, headers, body }: Trial): Promise<string> {
  const answer = await request(url + path, {
    method: 'POST',
    dispatcher: agent,
    headers: { authorization: `Bearer ${NAME}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  const read = await answer.body.text();
  if (answer.statusCode !== 200) throw new Error(`${path} was answered ${answer.statusCode}: ${read}`);
  return read;
}
