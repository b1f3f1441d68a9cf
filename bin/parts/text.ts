/** What serves text, in the api process and in the text process. */
import type { WebDependencies } from './web.ts';
import { createTextBilling, type TextBillingService } from '../../db/text-money/create-billing.ts';
import { observeUpstreams } from '../../api/text/observe-upstreams.ts';
import { createTextService, type TextService } from '../../api/text/text-service.ts';
import type { Config } from '../../config.ts';
import { againIfLost } from '../../db/connections.ts';
import { hasCredit } from '../../db/queries/accounts.ts';
import { openTextUpstreams } from './providers.ts';

export interface Text {
  readonly service: TextService;
  /** Makes a round trip over the connections that text has for itself. */
  ping(): Promise<unknown>;
  /** Waits for what is under way, writes down what it cost, and closes all connections. */
  close(): Promise<void>;
}

const KEEP_ALIVE_MS = 15_000;
const STALL_MS = 60_000;

/** @param cutoffMs after which a request that does not stream is cut off; null: never */
export function openText(
  config: Config,
  dependencies: WebDependencies,
  cutoffMs: number | null,
  billing: TextBillingService = openBilling(config, dependencies),
): Text {
  const { database, clock, catalogue, log, metrics, tracing } = dependencies;
  const upstreams = openTextUpstreams(config, observeUpstreams({ log, metrics, tracing }));
  const service = createTextService({
    catalogue,
    upstreams,
    billing,
    clock,
    hasCredit: (accountId) => againIfLost(() => hasCredit(database, accountId)),
    log,
    settings: { cutoffMs, keepAliveMs: KEEP_ALIVE_MS, stallMs: STALL_MS, readOnMs: config.text.readOnMs },
  });
  return {
    service,
    ping: () => billing.ping(),
    close: async () => {
      await service.idle();
      await billing.close();
      await upstreams.close();
    },
  };
}

function openBilling(config: Config, { database, catalogue, log, metrics }: WebDependencies): TextBillingService {
  return createTextBilling({ database, databaseUrl: config.database.url, catalogue, log, metrics });
}
