/** {@link TextBilling} on PostgreSQL, built on the text ledger. */
import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { ServiceError } from '../../domain/errors.ts';
import { formatUsd } from '../../domain/money.ts';
import { FREE_REQUESTS_PER_MINUTE } from '../../domain/policy.ts';
import { repeat, type Repetition } from '../../domain/background-loop.ts';
import type { Database } from '../database.ts';
import { withPartitions } from '../partitions.ts';
import { recordRateCards, type TextRateCard } from '../queries/rate-cards.ts';
import type { BilledModel, TextBilling, TextMoneyMetrics } from './billing.ts';
import { Allowances, type AllowanceSettings } from './allowances.ts';
import { releaseDeadAllowances, removeProcess } from './dead-processes.ts';
import { holdText } from './holds.ts';
import { createTextLedger, type TextWrite, type WrittenText } from './ledger.ts';

export interface TextBillingDependencies {
  readonly database: Database;
  /** The URL of the same database, to which allowances use their own connections. */
  readonly databaseUrl: string;
  readonly catalogue: { readonly version: string; readonly textModels: ReadonlyMap<string, BilledModel> };
  readonly log: Logger;
  readonly metrics: TextMoneyMetrics;
  readonly allowances?: AllowanceSettings;
}

export interface TextBillingService extends TextBilling {
  /**
   * Records the prices, and registers the process. The first hold does the same; a call at startup shows problems
   * early.
   *
   * @throws RateCardChangedError if prices changed without a new catalogue version
   */
  ready(): Promise<void>;
  /** Checks a connection with a round trip. */
  ping(): Promise<unknown>;
  /** Waits for pending writes, and closes the connections. */
  close(): Promise<void>;
}

/** One connection for writes, one for readiness checks. */
const CONNECTIONS = 2;
const DRAIN_TIMEOUT_MS = 20_000;
const OVERLOAD_RETRY_SECONDS = 5;
/** How often the process renews its lease and releases the allowances of dead processes. */
const HEARTBEAT_MS = 2_000;

/** Connects on demand. */
export function createTextBilling(dependencies: TextBillingDependencies): TextBillingService {
  const { database, databaseUrl, catalogue, log, metrics, allowances: settings } = dependencies;
  const processId = randomUUID();
  const ledger = createTextLedger({
    url: databaseUrl,
    poolSize: CONNECTIONS,
    processId,
    freeRequestsPerMinute: FREE_REQUESTS_PER_MINUTE,
  });
  const write = (one: TextWrite): Promise<WrittenText> => withPartitions(database, () => ledger.write(one));
  const allowances = new Allowances({ write }, log, settings);
  let heartbeat: Repetition | undefined;
  const ready = onceItSucceeds(async () => {
    await recordRateCards(database, rateCardsOf(catalogue));
    heartbeat ??= repeat(sendHeartbeat, {
      pauseMs: HEARTBEAT_MS,
      onError: (error) => log.error({ err: error }, 'could not release the allowances of dead processes'),
    });
  });

  async function sendHeartbeat(): Promise<void> {
    allowances.renew();
    const released = await releaseDeadAllowances(database, processId);
    if (released.allowances === 0) return;
    metrics.textUnsettled(released.amount);
    log.warn(
      { allowances: released.allowances, usd: formatUsd(released.amount) },
      'released the allowances of dead text processes, including money that they had not charged yet',
    );
  }

  return {
    ready,
    ping: () => ledger.ping(),

    async hold(charge) {
      await ready();
      if (allowances.isFull()) {
        throw new ServiceError('processing_unavailable', 'The service is overloaded. Wait a little and try again.', {
          retryAfterSeconds: OVERLOAD_RETRY_SECONDS,
        });
      }
      return holdText(charge, { allowances, metrics, log });
    },

    async close() {
      await heartbeat?.stop();
      const unwritten = await allowances.close(DRAIN_TIMEOUT_MS);
      if (unwritten > 0)
        log.error(
          { settlements: unwritten },
          'could not write settlements in time; their requests are charged only if a write without an answer arrived',
        );
      await removeProcess(database, processId).catch((error: unknown) => {
        log.warn({ err: error }, 'could not unregister the process; other processes will treat it as dead');
      });
      await ledger.close();
    },
  };
}

/** Returns the prices of a catalogue's text models. */
export function rateCardsOf({ version, textModels }: TextBillingDependencies['catalogue']): readonly TextRateCard[] {
  return [...textModels.values()].map(({ id, family, pricing }) => ({
    version,
    model: id,
    kind: 'text',
    family,
    pricing,
  }));
}

/** Returns a function that runs `work` until it succeeds once. After a failure, the next call tries again. */
function onceItSucceeds(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => {
    done ??= work().catch((error: unknown) => {
      done = undefined;
      throw error;
    });
    return done;
  };
}
