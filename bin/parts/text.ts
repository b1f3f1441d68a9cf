/** What serves text, in the api process and in the text process. */
import type { AppDependencies } from '../../api/app.ts';
import type { Web } from './web.ts';
import { createRequestCounter } from '../../api/middlewares/limit-requests.ts';
import { digestApiKey } from '../../api/services/api-key-digest.ts';
import { cached } from '../../api/services/cached.ts';
import { createTextBilling, type TextBillingService } from '../../db/text-money/create-billing.ts';
import { createTextHandler, type TextHandler } from '../../api/text/text-handler.ts';
import type { Config } from '../../config.ts';
import { againIfLost } from '../../db/connections.ts';
import { hasCredit } from '../../db/queries/accounts.ts';
import { findCaller } from '../../db/queries/api-keys.ts';
import { openTextUpstreams } from './providers.ts';

export interface Text {
  readonly handler: TextHandler;
  /** Makes a round trip over the connections that text has for itself. */
  ping(): Promise<unknown>;
  /** Waits for what is under way, writes down what it cost, and closes all connections. */
  close(): Promise<void>;
}

/** Holding the money of a request checks the key again, so what is remembered here may be a little old. */
const CALLER_CACHE = { forMs: 1_000, maxEntries: 10_000 };
const KEEP_ALIVE_MS = 15_000;
const STALL_MS = 60_000;

/** @param cutoffMs after which a request that does not stream is cut off; null: never */
export function openText(
  config: Config,
  dependencies: Web['dependencies'],
  cutoffMs: number | null,
  billing: TextBillingService = openBilling(config, dependencies),
): Text {
  const { database, clock, catalogue, log, metrics, tracing, settings } = dependencies;
  const upstreams = openTextUpstreams(config, { tracing, metrics });
  const handler = createTextHandler({
    catalogue,
    upstreams,
    billing,
    findCaller: cached(
      (apiKey) => againIfLost(() => findCaller(database, digestApiKey(apiKey, settings.keyPepper))),
      CALLER_CACHE,
    ),
    countRequest: createRequestCounter(database, settings.requestLimits),
    clock,
    hasCredit: (accountId) => againIfLost(() => hasCredit(database, accountId)),
    log,
    metrics,
    tracing,
    settings: {
      cutoffMs,
      keepAliveMs: KEEP_ALIVE_MS,
      stallMs: STALL_MS,
      readOnMs: config.text.readOnMs,
      trustedProxies: settings.trustedProxies,
      rejectedUserAgents: settings.rejectedUserAgents,
    },
  });
  return {
    handler,
    ping: () => billing.ping(),
    close: async () => {
      await handler.idle();
      await billing.close();
      await upstreams.close();
    },
  };
}

function openBilling(config: Config, { database, catalogue, log, metrics }: AppDependencies): TextBillingService {
  return createTextBilling({ database, databaseUrl: config.database.url, catalogue, log, metrics });
}
