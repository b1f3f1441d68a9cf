/** What serves text, in the api process and in the text process. */
import { resolve } from 'node:path';
import type { AppDependencies } from '../../api/app.ts';
import { createRequestCounter } from '../../api/middlewares/limit-requests.ts';
import { digestApiKey } from '../../api/services/api-key-digest.ts';
import { cached } from '../../api/services/cached.ts';
import { createTextBilling } from '../../api/text/create-billing.ts';
import { createTextHandler, type TextHandler } from '../../api/text/text-handler.ts';
import type { Config } from '../../config.ts';
import { findCaller } from '../../db/queries/api-keys.ts';
import { createTextUpstreams, type TextUpstreamSettings } from '../../providers/text/text-upstreams.ts';
import { loadUpstreams } from '../../providers/upstreams.ts';

export interface Text {
  readonly handler: TextHandler;
  /** Waits for what is under way, writes down what it cost, and closes all connections. */
  close(): Promise<void>;
}

/** Holding the money of a request checks the key again, so what is remembered here may be a little old. */
const CALLER_CACHE = { forMs: 1_000, maxEntries: 10_000 };
const KEEP_ALIVE_MS = 15_000;
const STALL_MS = 60_000;

/** @param cutoffMs after which a request that does not stream is cut off; null: never */
export function openText(config: Config, dependencies: AppDependencies, cutoffMs: number | null): Text {
  const { database, catalogue, log, settings } = dependencies;
  const upstreams = createTextUpstreams(textUpstreams(config));
  const billing = createTextBilling({ database, databaseUrl: config.database.url, catalogue, log });
  const handler = createTextHandler({
    catalogue,
    upstreams,
    billing,
    findCaller: cached((apiKey) => findCaller(database, digestApiKey(apiKey, settings.keyPepper)), CALLER_CACHE),
    countRequest: createRequestCounter(database, settings.requestsPerMinute),
    log,
    settings: {
      cutoffMs,
      keepAliveMs: KEEP_ALIVE_MS,
      stallMs: STALL_MS,
      trustedProxies: settings.trustedProxies,
      rejectedUserAgents: settings.rejectedUserAgents,
    },
  });
  return {
    handler,
    close: async () => {
      await handler.idle();
      await billing.close();
      await upstreams.close();
    },
  };
}

/** The upstreams that generate text; the simulator where no file names others. */
function textUpstreams({ providers, simulator }: Config): readonly TextUpstreamSettings[] {
  if (providers.routesFile) return loadUpstreams(resolve(providers.routesFile)).text;
  const v1 = `${simulator.url}/v1`;
  return [
    {
      name: 'simulator',
      apiKey: simulator.key,
      baseUrls: {
        'chat-completions': v1,
        responses: v1,
        messages: v1,
        'generate-content': `${simulator.url}/v1beta`,
      },
    },
  ];
}
