/** What a text request may cost, and what of it is held for. Pure. */
import type { NewTextHold } from '../../db/text-ledger.ts';
import type { PicoUsd } from '../../domain/money.ts';
import { estimateText } from '../../domain/pricing.ts';
import type { TextCharge } from './billing.ts';

/** Nobody is served with less for each answer. */
const LEAST_OUTPUT_TOKENS = 1_024;

/**
 * What to hold: the price of the whole prompt at its dearest and of all answers. One without a bound of its own may get
 * anything from a short answer to the longest that the model gives.
 */
export function priceBeforehand(charge: TextCharge): Pick<NewTextHold, 'leastAmount' | 'usualAmount' | 'mostAmount'> {
  if (charge.maxOutputTokens !== null) {
    const amount = priceWith(charge, charge.maxOutputTokens);
    return { leastAmount: amount, usualAmount: amount, mostAmount: amount };
  }
  const most = longestAnswer(charge);
  return {
    leastAmount: priceWith(charge, Math.min(LEAST_OUTPUT_TOKENS, most)),
    usualAmount: priceWith(charge, Math.min(charge.model.assumedOutputTokens, most)),
    mostAmount: priceWith(charge, most),
  };
}

/** The output tokens of each answer that an amount pays for; null where they cost nothing and the request sets no bound. */
export function boundOf(charge: TextCharge, amount: PicoUsd): number | null {
  if (charge.maxOutputTokens !== null) return charge.maxOutputTokens;
  const input = priceWith(charge, 0);
  const perToken = priceWith(charge, 1) - input;
  return perToken === 0n ? null : Number((amount - input) / perToken);
}

/** What is left of the context after the prompt bounds an answer too; upstreams refuse a bound that does not fit in. */
function longestAnswer({ model, estimatedInputTokens }: TextCharge): number {
  const { contextTokens, mostOutputTokens } = model;
  if (contextTokens === null) return mostOutputTokens;
  return Math.max(1, Math.min(mostOutputTokens, contextTokens - estimatedInputTokens));
}

function priceWith({ model, mostInputTokens, choiceCount, startedAtMs }: TextCharge, outputTokens: number): PicoUsd {
  const bounds = {
    inputTokens: mostInputTokens,
    outputTokens: Math.min(outputTokens * choiceCount, Number.MAX_SAFE_INTEGER),
  };
  return estimateText(model.pricing, bounds, startedAtMs);
}
