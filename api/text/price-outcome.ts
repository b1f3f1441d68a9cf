/** What a text request is charged for, from how it ended. Pure. */
import type { TextSettlement } from '../../db/text-ledger.ts';
import { priceText } from '../../domain/pricing.ts';
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
> & {
  /** Whether the upstream reported more tokens than it can have used. */
  readonly clamped: boolean;
};

/**
 * The charge by the upstream's usage, and by the gateway's own counts where the upstream gave none. Nothing is charged for a
 * failure, or where no upstream had answered before the client left. No input counts beyond the model's context, and no
 * output beyond the bound.
 *
 * @param bound of each answer, as it was held for; null for that of the model
 */
export function priceOutcome(charge: TextCharge, bound: number | null, outcome: TextOutcome): PricedOutcome {
  const { usage } = outcome;
  const mostInput = charge.model.mostInputTokens;
  const mostOutput = mostOutputTokens(charge, bound);
  const reportedInput = tokens(usage?.inputTotal, mostInput);
  const reportedOutput = tokens(usage?.outputTotal, mostOutput);
  const cacheReadTokens = tokens(usage?.cacheRead, mostInput) ?? 0;
  const cacheWriteTokens = tokens(usage?.cacheWrite, mostInput - cacheReadTokens) ?? 0;
  const reasoningTokens = tokens(usage?.reasoning, mostOutput);
  const countedOutput = Math.min(outcome.countedOutputTokens, mostOutput);
  const clamped =
    (usage?.inputTotal ?? 0) > mostInput ||
    (usage?.outputTotal ?? 0) > Math.max(mostOutput, LARGEST_LEAST_BOUND * charge.choiceCount);
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
      clamped,
    };
  }
  // What an upstream says before the end is what it had produced when it said so.
  const outputTokens =
    outcome.status === 'disconnected'
      ? Math.max(reportedOutput ?? 0, countedOutput)
      : (reportedOutput ?? countedOutput);
  const inputTokens = reportedInput ?? Math.min(charge.estimatedInputTokens, mostInput);
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
    clamped,
  };
}

/** Some upstreams refuse a smaller bound, and are given this one instead; the client does not pay for what is cut. */
const LARGEST_LEAST_BOUND = 16;

function mostOutputTokens({ model, choiceCount }: TextCharge, bound: number | null): number {
  return Math.min((bound ?? model.mostOutputTokens) * choiceCount, Number.MAX_SAFE_INTEGER);
}

/** A count as an upstream reported it, within what it can be; null for none, and for what is no count. */
function tokens(count: number | null | undefined, most: number): number | null {
  const isCount = count !== null && count !== undefined && Number.isSafeInteger(count) && count >= 0;
  return isCount ? Math.min(count, most) : null;
}
