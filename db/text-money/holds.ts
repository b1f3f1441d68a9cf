/** Holds the money of text requests, many at a time, and turns each hold into the settlement of its request. */
import type { Logger } from 'pino';
import { newId } from '../../domain/ids.ts';
import type { PicoUsd } from '../../domain/money.ts';
import { boundOf, chargedUsage, holdAmounts, possibleLossOf, priceConsumption } from '../../domain/text-price.ts';
import { needsTopUp, refusedHold } from '../../domain/text-refusal.ts';
import { SERVING_LIMITS } from '../connections.ts';
import type { TextCharge, TextHold, TextMoneyMetrics, TextOutcome } from './billing.ts';
import type { NewTextHold, TextSettlement } from './ledger.ts';
import type { Settlements } from './settlements.ts';
import type { DecidedHold, TextTurns } from './turns.ts';

export interface Holds {
  /** @throws ServiceError 401, 402, 403 or 429 if nothing can be held */
  hold(charge: TextCharge): Promise<TextHold>;
  /** When the oldest unsettled request began; null if there is none. */
  waitSince(): Date | null;
}

/** The latest time at which a hold that was given up may still be made; later ones are released as unawaited. */
const LATEST_HOLD_MS = 2 * SERVING_LIMITS.silenceMs;

export function createHolds(
  { metrics, log }: { metrics: TextMoneyMetrics; log: Logger },
  { turns, settlements }: { turns: TextTurns; settlements: Settlements },
): Holds {
  /** When each unsettled request began. */
  const waitedFor = new Map<string, Date>();

  async function decide(charge: TextCharge, hold: NewTextHold): Promise<DecidedHold> {
    waitedFor.set(hold.id, hold.createdAt);
    try {
      const decided = await turns.hold(hold);
      if (decided.decision.refusal !== null) waitedFor.delete(hold.id);
      return decided;
    } catch (error) {
      waitedFor.delete(hold.id);
      await releaseLost(charge, hold);
      throw error;
    }
  }

  /** The hold may have been made after all, or may be made by a statement that is still on its way. */
  async function releaseLost(charge: TextCharge, hold: NewTextHold): Promise<void> {
    const release = (): TextSettlement => toSettlement(charge, null, hold, HOLD_FAILED);
    const later = release();
    // Keeps nothing of the request while it waits.
    setTimeout(() => void settlements.add(later), LATEST_HOLD_MS).unref();
    await settlements.add(release());
  }

  function settle(charge: TextCharge, held: PicoUsd, hold: NewTextHold, outcome: TextOutcome): Promise<void> {
    const settlement = toSettlement(charge, boundOf(charge, held), hold, outcome);
    const upstream = outcome.upstream?.provider ?? 'none';
    const possibleLoss = possibleLossOf(settlement, held);
    if (possibleLoss > 0n) metrics.textPossiblyLost(upstream, possibleLoss);
    if (settlement.clamped) {
      metrics.usageClamped(upstream);
      log.warn(
        { text_request_id: hold.id, model: hold.model, upstream, usage: outcome.usage },
        'an upstream reported more tokens than it can have used; charged the most it was allowed',
      );
    }
    return settlements.add(settlement, () => void waitedFor.delete(hold.id));
  }

  return {
    async hold(charge) {
      const hold = newHold(charge);
      const { decision, window } = await decide(charge, hold);
      if (window !== null) charge.uncounted?.counted(window);
      if (decision.refusal !== null) throw refusedHold(hold, decision);
      const bound = boundOf(charge, decision.amount);
      return toTextHold(charge, hold, bound, (outcome) => settle(charge, decision.amount, hold, outcome));
    },

    waitSince() {
      let oldest: Date | null = null;
      for (const createdAt of waitedFor.values()) if (oldest === null || createdAt < oldest) oldest = createdAt;
      return oldest;
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
    needsTopUp: needsTopUp(model),
    createdAt: new Date(charge.startedAtMs),
    requestId: charge.requestId,
    model: model.id,
    format: charge.format,
    streamed: charge.streamed,
    catalogueVersion: charge.catalogueVersion,
    requestLimit: charge.uncounted?.limit ?? null,
  };
}

/** Only the first settlement counts. */
function toTextHold(
  charge: TextCharge,
  { id }: NewTextHold,
  maxOutputTokens: number | null,
  settle: (outcome: TextOutcome) => Promise<void>,
): TextHold {
  let settled: Promise<void> | undefined;
  return {
    textRequestId: id,
    maxOutputTokens,
    charged: (consumption) => chargedUsage(charge, maxOutputTokens, consumption),
    settle: (outcome) => (settled ??= settle(outcome)),
  };
}

/** @param bound the output limit of each answer that the hold covers */
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

/** Whether a client received any of the model's work. */
function wasDelivered({ firstByteMs, countedOutputTokens, earlierCalls = [] }: TextOutcome): boolean {
  return firstByteMs !== null && (countedOutputTokens > 0 || earlierCalls.length > 0);
}
