/** {@link TextBilling} on PostgreSQL, built on the text ledger. */
import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { ServiceError } from '../../domain/errors.ts';
import { FREE_REQUESTS_PER_MINUTE } from '../../domain/policy.ts';
import type { Database } from '../database.ts';
import { withPartitions } from '../partitions.ts';
import { recordRateCards, type TextRateCard } from '../queries/rate-cards.ts';
import type { BilledModel, TextBilling, TextMoneyMetrics } from './billing.ts';
import { createHolds } from './holds.ts';
import { createTextLedger, type TextLedger } from './ledger.ts';
import { keepProcessKnown } from './presence.ts';
import { createSettlements } from './settlements.ts';
import { createTextTurns } from './turns.ts';

export interface TextBillingDependencies {
  readonly database: Database;
  /** The same database; holds and settlements use their own connections to it. */
  readonly databaseUrl: string;
  readonly catalogue: { readonly version: string; readonly textModels: ReadonlyMap<string, BilledModel> };
  readonly log: Logger;
  readonly metrics: TextMoneyMetrics;
}

export interface TextBillingService extends TextBilling {
  /**
   * Registers the process and its prices. The first hold does this if nothing did before; calling it at startup reveals
   * problems early.
   *
   * @throws RateCardChangedError if prices changed without a new catalogue version
   */
  ready(): Promise<void>;
  /** Checks its connections with a round trip. */
  ping(): Promise<unknown>;
  /** Waits for pending writes, and closes the connections. */
  close(): Promise<void>;
}

/** One for the turns, one for exceptional cases. */
const CONNECTIONS = 2;
const DRAIN_TIMEOUT_MS = 20_000;
const FULL_RETRY_SECONDS = 5;

/** Connects on demand. */
export function createTextBilling(dependencies: TextBillingDependencies): TextBillingService {
  const { database, catalogue, log } = dependencies;
  const processId = randomUUID();
  const ledger = openLedger(dependencies, processId);
  const turns = createTextTurns(ledger);
  const settlements = createSettlements(turns, ledger, log);
  const holds = createHolds(dependencies, { turns, settlements });
  const presence = keepProcessKnown({ database, ledger, processId, waitsSince: () => holds.waitSince(), log });
  const ready = onceItSucceeds(async () => {
    await presence.begin();
    await recordRateCards(database, rateCardsOf(catalogue));
  });

  return {
    ready,
    ping: () => ledger.ping(),

    async hold(charge) {
      await ready();
      if (settlements.isFull()) {
        throw new ServiceError('processing_unavailable', 'The service is overloaded. Wait a little and try again.', {
          retryAfterSeconds: FULL_RETRY_SECONDS,
        });
      }
      return holds.hold(charge);
    },

    async close() {
      await turns.idle();
      const left = await settlements.drain(DRAIN_TIMEOUT_MS);
      if (left > 0) log.error({ settlements: left }, 'settlements could not be written; their holds will be released');
      await presence.end();
      await ledger.close();
    },
  };
}

function openLedger({ database, databaseUrl }: TextBillingDependencies, processId: string): TextLedger {
  const ledger = createTextLedger({
    url: databaseUrl,
    poolSize: CONNECTIONS,
    processId,
    freeRequestsPerMinute: FREE_REQUESTS_PER_MINUTE,
  });
  return {
    ...ledger,
    write: (turn) => withPartitions(database, () => ledger.write(turn)),
    settle: (settlements) => withPartitions(database, () => ledger.settle(settlements)),
  };
}

/** What a catalogue charges for text. */
export function rateCardsOf({ version, textModels }: TextBillingDependencies['catalogue']): readonly TextRateCard[] {
  return [...textModels.values()].map(({ id, pricing }) => ({ version, model: id, kind: 'text', pricing }));
}

/** Makes `work` run until it succeeds once; after a failure, the next call tries again. */
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
