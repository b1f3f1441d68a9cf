/** Billing of text requests on PostgreSQL: {@link TextBilling} over the text ledger. */
import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { ServiceError } from '../../domain/errors.ts';
import { newId } from '../../domain/ids.ts';
import { boundOf, holdAmounts, priceConsumption } from '../../domain/text-price.ts';
import { refusedHold, type RefusedHold } from '../../domain/text-refusal.ts';
import { FREE_REQUESTS_PER_MINUTE } from '../../domain/policy.ts';
import { createBatcher, createTurns } from '../batcher.ts';
import { SERVING_LIMITS } from '../connections.ts';
import type { Database } from '../database.ts';
import { withPartitions } from '../partitions.ts';
import { recordRateCards } from '../queries/rate-cards.ts';
import type { BilledModel, TextBilling, TextCharge, TextHold, TextOutcome } from './billing.ts';
import { createTextLedger, type HeldText, type NewTextHold, type TextLedger, type TextSettlement } from './ledger.ts';
import { keepProcessKnown } from './presence.ts';
import { createSettlements } from './settlements.ts';

export interface TextBillingDependencies {
  readonly database: Database;
  /** The same database; holds and settlements have connections of their own to it. */
  readonly databaseUrl: string;
  readonly catalogue: { readonly version: string; readonly textModels: ReadonlyMap<string, BilledModel> };
  readonly log: Logger;
  readonly metrics: {
    /** @param upstream that reported more tokens than it can have used */
    usageClamped(upstream: string): void;
  };
}

export interface TextBillingService extends TextBilling {
  /**
   * Puts the process and its prices on record. A hold does so when nobody has; a start that asks learns early what is wrong.
   *
   * @throws RateCardChangedError when prices were changed without a new version of the catalogue
   */
  ready(): Promise<void>;
  /** Makes a round trip over its connections. */
  ping(): Promise<unknown>;
  /** Waits for what is still to be written, and closes the connections. */
  close(): Promise<void>;
}

const MAX_HELD_AT_ONCE = 250;
/** One for holds, one for settlements, one for what is out of the ordinary. */
const CONNECTIONS = 3;
const DRAIN_TIMEOUT_MS = 20_000;
const FULL_RETRY_SECONDS = 5;
/** A hold that was given up is hardly made later than this; one that is, is released as one that nobody waits for. */
const LATEST_HOLD_MS = 2 * SERVING_LIMITS.silenceMs;

/** Opens no connection before it is needed. */
export function createTextBilling({
  database,
  databaseUrl,
  catalogue,
  log,
  metrics,
}: TextBillingDependencies): TextBillingService {
  const processId = randomUUID();
  const connections = createTextLedger({
    url: databaseUrl,
    poolSize: CONNECTIONS,
    processId,
    catalogueVersion: catalogue.version,
    freeRequestsPerMinute: FREE_REQUESTS_PER_MINUTE,
  });
  const ledger: TextLedger = {
    ...connections,
    settle: (settlements) => withPartitions(database, () => connections.settle(settlements)),
  };
  const turns = createTurns();
  const holds = createBatcher<NewTextHold, HeldText | RefusedHold>(
    (batch) => withPartitions(database, () => ledger.hold(batch)),
    { maxItems: MAX_HELD_AT_ONCE, turns },
  );
  const settlements = createSettlements(ledger, turns, log);
  const presence = keepProcessKnown({ database, ledger, processId, waitsSince, log });
  /** When each request began that is not settled yet. */
  const waitedFor = new Map<string, Date>();
  let recorded: Promise<void> | undefined;

  function waitsSince(): Date | null {
    let oldest: Date | null = null;
    for (const createdAt of waitedFor.values()) if (oldest === null || createdAt < oldest) oldest = createdAt;
    return oldest;
  }

  async function record(): Promise<void> {
    await presence.begin();
    const cards = [...catalogue.textModels.values()].map(({ id, pricing }) => ({
      version: catalogue.version,
      model: id,
      pricing,
    }));
    await recordRateCards(database, cards);
  }

  function ready(): Promise<void> {
    recorded ??= record().catch((error: unknown) => {
      // The next request tries again.
      recorded = undefined;
      throw error;
    });
    return recorded;
  }

  function settle(charge: TextCharge, bound: number | null, hold: NewTextHold, outcome: TextOutcome): Promise<void> {
    const settlement = toSettlement(charge, bound, hold, outcome);
    if (settlement.clamped) {
      const upstream = outcome.upstream?.provider ?? 'none';
      metrics.usageClamped(upstream);
      log.warn(
        { text_request_id: hold.id, model: hold.model, upstream, usage: outcome.usage },
        'an upstream reported more tokens than it can have used; charged as many as it was allowed',
      );
    }
    return settlements.add(settlement, () => void waitedFor.delete(hold.id));
  }

  async function holdFor(charge: TextCharge, hold: NewTextHold): Promise<HeldText | RefusedHold> {
    waitedFor.set(hold.id, hold.createdAt);
    try {
      const decision = await holds.add(hold);
      if (decision.refusal !== null) waitedFor.delete(hold.id);
      return decision;
    } catch (error) {
      waitedFor.delete(hold.id);
      await releaseLost(charge, hold);
      throw error;
    }
  }

  /** It may have been held all the same; and a statement that is still on its way may hold it later. */
  async function releaseLost(charge: TextCharge, hold: NewTextHold): Promise<void> {
    const release = (): Promise<void> => settlements.add(toSettlement(charge, null, hold, HOLD_FAILED));
    setTimeout(() => void release(), LATEST_HOLD_MS).unref();
    await release();
  }

  return {
    ready,
    ping: () => ledger.ping(),

    async hold(charge) {
      await ready();
      if (settlements.isFull()) {
        throw new ServiceError('processing_unavailable', 'The service is catching up. Wait a little and try again.', {
          retryAfterSeconds: FULL_RETRY_SECONDS,
        });
      }
      const hold = newHold(charge);
      const decision = await holdFor(charge, hold);
      if (decision.refusal !== null) throw refusedHold(hold, decision);
      const bound = boundOf(charge, decision.amount);
      return toTextHold(hold, bound, (outcome) => settle(charge, bound, hold, outcome));
    },

    async close() {
      await holds.idle();
      const left = await settlements.drain(DRAIN_TIMEOUT_MS);
      if (left > 0) log.error({ settlements: left }, 'settlements could not be written; their holds will be released');
      await presence.end();
      await ledger.close();
    },
  };
}

const HOLD_FAILED: TextOutcome = {
  status: 'failed',
  errorCode: 'internal_error',
  usage: null,
  countedOutputTokens: 0,
  upstream: null,
  latencyMs: 0,
  firstByteMs: null,
};

function newHold(charge: TextCharge): NewTextHold {
  const { caller, model } = charge;
  return {
    id: newId('textRequest', charge.startedAtMs),
    reservationId: newId('transfer'),
    accountId: caller.account.id,
    apiKeyId: caller.key.id,
    ...holdAmounts(charge),
    free: model.free,
    fundedOnly: model.fundedOnly,
    needsTopUp: !model.free || model.requiresTopUp,
    createdAt: new Date(charge.startedAtMs),
    requestId: charge.requestId,
    model: model.id,
    format: charge.format,
    streamed: charge.streamed,
  };
}

/** Only the first settlement counts. */
function toTextHold(
  { id }: NewTextHold,
  maxOutputTokens: number | null,
  settle: (outcome: TextOutcome) => Promise<void>,
): TextHold {
  let settled: Promise<void> | undefined;
  return { textRequestId: id, maxOutputTokens, settle: (outcome) => (settled ??= settle(outcome)) };
}

/** @param bound of each answer, as it was held for */
function toSettlement(
  charge: TextCharge,
  bound: number | null,
  hold: NewTextHold,
  outcome: TextOutcome,
): TextSettlement & { readonly clamped: boolean } {
  return {
    hold,
    resolutionId: newId('transfer'),
    excessId: newId('transfer'),
    absorbedId: newId('transfer'),
    outcome: outcome.status,
    errorCode: outcome.status === 'failed' ? (outcome.errorCode ?? 'internal_error') : null,
    ...priceConsumption(charge, bound, outcome),
    upstream: outcome.upstream,
    latencyMs: outcome.latencyMs,
    firstByteMs: outcome.firstByteMs,
    givesSlotBack: outcome.status === 'failed' && !wasDelivered(outcome),
  };
}

/** Whether a client got some of the model's work. */
function wasDelivered({ firstByteMs, countedOutputTokens }: TextOutcome): boolean {
  return firstByteMs !== null && countedOutputTokens > 0;
}
