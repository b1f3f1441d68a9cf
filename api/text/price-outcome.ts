/** What a text request is charged for, from how it ended. Pure. */
import type { TextSettlement } from '../../db/text-ledger.ts';
import { estimateText, priceText } from '../../domain/pricing.ts';
import type { PicoUsd } from '../../domain/money.ts';
import type { TextCharge, TextOutcome } from './billing.ts';

export type PricedOutcome = Pick<
  TextSettlement,
  | 'charge'
  | 'modifiers'
  | 'inputTokens'
  | 'cacheReadTokens'
  | 'cacheWriteTokens'
  | 'outputTokens'
  | 'reasoningTokens'
  | 'estimated'
>;

/** What to hold: the price of the whole prompt at its dearest and of as many output tokens as the request allows. */
export function priceBeforehand({ model, estimatedInputTokens, maxOutputTokens, startedAtMs }: TextCharge): PicoUsd {
  const outputTokens = Math.min(maxOutputTokens ?? model.assumedOutputTokens, Number.MAX_SAFE_INTEGER);
  return estimateText(model.pricing, { inputTokens: estimatedInputTokens, outputTokens }, startedAtMs);
}

/**
 * The charge by the upstream's usage, and by the gateway's own counts where the upstream gave none. Nothing is charged for a
 * failure, or where no upstream had answered before the client left.
 */
export function priceOutcome(charge: TextCharge, outcome: TextOutcome): PricedOutcome {
  const { usage } = outcome;
  const reportedInput = tokens(usage?.inputTotal);
  const reportedOutput = tokens(usage?.outputTotal);
  const cacheReadTokens = tokens(usage?.cacheRead) ?? 0;
  const cacheWriteTokens = tokens(usage?.cacheWrite) ?? 0;
  const reasoningTokens = tokens(usage?.reasoning);
  if (outcome.status === 'failed' || (outcome.status === 'disconnected' && outcome.upstream === null)) {
    return {
      charge: 0n,
      modifiers: [],
      inputTokens: reportedInput ?? 0,
      cacheReadTokens,
      cacheWriteTokens,
      outputTokens: reportedOutput ?? 0,
      reasoningTokens,
      estimated: false,
    };
  }
  // What an upstream says before the end is what it had produced when it said so.
  const outputTokens =
    outcome.status === 'disconnected'
      ? Math.max(reportedOutput ?? 0, outcome.countedOutputTokens)
      : (reportedOutput ?? outcome.countedOutputTokens);
  const inputTokens = reportedInput ?? charge.estimatedInputTokens;
  const price = priceText(
    charge.model.pricing,
    { inputTotal: inputTokens, cacheRead: cacheReadTokens, cacheWrite: cacheWriteTokens, outputTotal: outputTokens },
    charge.startedAtMs,
  );
  return {
    charge: price.charge,
    modifiers: price.modifiers,
    inputTokens,
    cacheReadTokens,
    cacheWriteTokens,
    outputTokens,
    reasoningTokens,
    estimated: reportedInput === null || outputTokens !== reportedOutput,
  };
}

/** A count as an upstream reported it; null for none, and for what is no count. */
function tokens(count: number | null | undefined): number | null {
  return count !== null && count !== undefined && Number.isSafeInteger(count) && count >= 0 ? count : null;
}
