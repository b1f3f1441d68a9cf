/** Holds the money of text requests, and turns each hold into the settlement of its request. */
import type { Logger } from 'pino';
import { newId } from '../../domain/ids.ts';
import {
  affordableOutputTokens,
  chargedUsage,
  holdAmounts,
  computePossibleLoss,
  priceConsumption,
  countFailedCallTokens,
} from '../../domain/text-price.ts';
import { isTopUpRequired, holdRefusalError } from '../../domain/text-refusal.ts';
import type { Allowances, HeldText, UnpaidSettlement } from './allowances.ts';
import type { TextCharge, TextHold, TextMoneyMetrics, TextOutcome } from './billing.ts';
import type { NewTextHold } from './ledger.ts';

/** @throws ServiceError 401, 402, 403, 429 or 503 if the hold is refused */
export async function holdText(
  charge: TextCharge,
  { allowances, metrics, log }: { allowances: Pick<Allowances, 'hold'>; metrics: TextMoneyMetrics; log: Logger },
): Promise<TextHold> {
  const hold = newHold(charge);
  const decided = await allowances.hold(hold);
  if (decided.window !== null) charge.uncounted?.counted(decided.window);
  if (decided.refusal !== null) throw holdRefusalError({ ...hold, keyLimit: charge.caller.key }, decided);
  const bound = affordableOutputTokens(charge, decided.amount);

  function settle(outcome: TextOutcome, held: HeldText): Promise<void> {
    const settlement = toSettlement(charge, bound, hold, outcome);
    const upstream = outcome.upstream?.provider ?? 'none';
    const possibleLoss = computePossibleLoss(settlement, held.amount);
    if (possibleLoss > 0n) metrics.textPossiblyLost(upstream, possibleLoss);
    if (settlement.price.clamped) {
      metrics.usageClamped(upstream);
      log.warn(
        { text_request_id: hold.id, model: hold.model, upstream, usage: outcome.usage },
        'an upstream reported more tokens than the request can have used; charged the maximum of the request',
      );
    }
    return held.settle(settlement);
  }

  let settled: Promise<void> | undefined;
  return {
    textRequestId: hold.id,
    maxOutputTokens: bound,
    charged: (consumption) => chargedUsage(charge, bound, consumption),
    // Only the first settlement counts.
    settle: (outcome) => (settled ??= settle(outcome, decided)),
  };
}

function newHold(charge: TextCharge): NewTextHold {
  const { caller, model } = charge;
  const { minAmount, usualAmount, maxAmount } = holdAmounts(charge);
  return {
    id: newId('textRequest', charge.startedAtMs),
    accountId: caller.account.id,
    apiKeyId: caller.key.id,
    minAmount,
    usualAmount,
    maxAmount,
    free: model.free,
    fundedOnly: model.fundedOnly,
    isTopUpRequired: isTopUpRequired(model),
    createdAt: new Date(charge.startedAtMs),
    requestId: charge.requestId,
    model: model.id,
    format: charge.format,
    streamed: charge.streamed,
    catalogueVersion: charge.catalogueVersion,
    priceList: charge.priceList,
    endUser: charge.endUser,
    budget: charge.budget,
    requestLimit: charge.uncounted?.limit ?? null,
  };
}

/** @param bound the output limit of each answer that the hold covers */
function toSettlement(
  charge: TextCharge,
  bound: number | null,
  hold: NewTextHold,
  outcome: TextOutcome,
): UnpaidSettlement {
  return {
    hold,
    price: priceConsumption(charge, bound, outcome),
    chargeId: newId('transfer'),
    outcome: outcome.status,
    errorCode: outcome.status === 'failed' ? (outcome.errorCode ?? 'internal_error') : null,
    upstream: outcome.upstream,
    failedAttempts: outcome.failedAttempts.map(({ upstream, ...used }) => ({
      upstream,
      ...countFailedCallTokens(charge, bound, used),
    })),
    measured: outcome,
    releasesSlot: hold.free && outcome.status === 'failed' && !wasDelivered(outcome),
  };
}

/** Whether a client received any output of the model. */
function wasDelivered({ firstByteMs, countedOutputTokens, otherCalls = [] }: TextOutcome): boolean {
  return firstByteMs !== null && (countedOutputTokens > 0 || otherCalls.length > 0);
}
