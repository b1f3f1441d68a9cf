/** Holds the money of text requests, and turns each hold into the settlement of its request. */
import type { Logger } from 'pino';
import { ServiceError } from '../../domain/errors.ts';
import { newId } from '../../domain/ids.ts';
import { boundText } from '../../domain/pricing.ts';
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
    // In the same moment, so that nothing else holds the money that the charge needs.
    for (const more of further) more.release();
    return held.settle(settlement);
  }

  const further: HeldText[] = [];

  async function holdPrompt(inputTokens: number): Promise<boolean> {
    const limits = { ...charge, inputTokens, characters: 0, audioSeconds: 0, webSearches: 0 };
    const { input: amount } = boundText(charge.model.pricing, limits, charge.startedAtMs);
    if (amount === 0n) return true;
    const id = newId('textRequest', charge.startedAtMs);
    const amounts = { minAmount: amount, usualAmount: amount, maxAmount: amount };
    try {
      const more = await allowances.hold({ ...hold, ...amounts, id, requestLimit: null });
      if (more.refusal === null) further.push(more);
      return more.refusal === null;
    } catch (error) {
      if (error instanceof ServiceError) return false;
      throw error;
    }
  }

  let settled: Promise<void> | undefined;
  return {
    textRequestId: hold.id,
    maxOutputTokens: bound,
    holdPrompt,
    charged: (consumption) => chargedUsage(charge, bound, consumption),
    // Only the first settlement counts.
    settle: (outcome) => (settled ??= settle(outcome, decided)),
    release: () => {
      if (settled === undefined) decided.release();
      settled = Promise.resolve();
    },
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
    budgets: charge.budgets,
    batchId: charge.batchId,
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
    batchLine: outcome.batchLine ?? null,
  };
}

/** Whether a client received any output of the model. */
function wasDelivered({ firstByteMs, countedOutputTokens, otherCalls = [] }: TextOutcome): boolean {
  return firstByteMs !== null && (countedOutputTokens > 0 || otherCalls.length > 0);
}
