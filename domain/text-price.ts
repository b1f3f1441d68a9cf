/** What a text request may cost, what of it is held, and what it is charged for from how it ended. Pure. */
import type { PicoUsd } from './money.ts';
import { type AppliedModifier, estimateText, priceText, type TextPricing } from './pricing.ts';

/** What the price of a request takes from its model. */
export interface TextTerms {
  readonly pricing: TextPricing;
  /** Null when no number is published. */
  readonly contextTokens: number | null;
  /** The bounds that requests are held and charged within: what is published, and else what the operator assumes. */
  readonly mostInputTokens: number;
  readonly mostOutputTokens: number;
  /** Output tokens to hold the price of, where it fits easily, when a request sets no bound of its own. */
  readonly assumedOutputTokens: number;
}

/** What is known of a request's cost before its model is called. */
export interface TextEstimate {
  readonly model: TextTerms;
  /** The moment that decides about peaks: the start of the request, in milliseconds since 1970. */
  readonly startedAtMs: number;
  /** Counted by the gateway, for where the upstream will not report the input. */
  readonly estimatedInputTokens: number;
  /** What the upstream may report at most. */
  readonly mostInputTokens: number;
  /** The request's own bound of each answer, or null where it sets none. */
  readonly maxOutputTokens: number | null;
  /** How many answers it asks for. */
  readonly choiceCount: number;
}

/** Token counts as the upstream reported them; inclusive, as in `text/canonical.ts`. Null where it reported none. */
export interface ReportedUsage {
  readonly inputTotal: number | null;
  readonly cacheRead: number | null;
  readonly cacheWrite: number | null;
  readonly outputTotal: number | null;
  readonly reasoning: number | null;
}

/** What its cost depends on once it has ended. */
export interface TextConsumption {
  /**
   * `succeeded`: a whole answer; `disconnected`: the client left, what was produced is charged; `failed`: nothing is
   * charged.
   */
  readonly status: 'succeeded' | 'disconnected' | 'failed';
  readonly usage: ReportedUsage | null;
  /** What the gateway itself counted, for where the upstream reported nothing. */
  readonly countedOutputTokens: number;
  /** The upstream that answered, if any. */
  readonly upstream: { readonly provider: string } | null;
}

/** Pico-USD: what has to fit, what is held where it fits easily, and what is held where there is plenty. */
export interface HoldAmounts {
  readonly leastAmount: PicoUsd;
  readonly usualAmount: PicoUsd;
  readonly mostAmount: PicoUsd;
}

export interface ConsumptionPrice {
  readonly charge: PicoUsd;
  readonly modifiers: readonly AppliedModifier[];
  readonly inputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  readonly outputTokens: number;
  readonly reasoningTokens: number | null;
  /** Whether a count is the gateway's own. */
  readonly estimated: boolean;
  /** Whether the upstream reported more tokens than it can have used. */
  readonly clamped: boolean;
}

/** Nobody is served with less for each answer. */
const LEAST_OUTPUT_TOKENS = 1_024;
/** Some upstreams refuse a smaller bound, and are given this one instead; the client does not pay for what is cut. */
const LARGEST_LEAST_BOUND = 16;

/**
 * What to hold: the price of the whole prompt at its dearest and of all answers. One without a bound of its own may get
 * anything from a short answer to the longest that the model gives.
 */
export function holdAmounts(estimate: TextEstimate): HoldAmounts {
  if (estimate.maxOutputTokens !== null) {
    const amount = priceWith(estimate, estimate.maxOutputTokens);
    return { leastAmount: amount, usualAmount: amount, mostAmount: amount };
  }
  const most = longestAnswer(estimate);
  return {
    leastAmount: priceWith(estimate, Math.min(LEAST_OUTPUT_TOKENS, most)),
    usualAmount: priceWith(estimate, Math.min(estimate.model.assumedOutputTokens, most)),
    mostAmount: priceWith(estimate, most),
  };
}

/** The output tokens of each answer that an amount pays for; null where they cost nothing and the request sets no bound. */
export function boundOf(estimate: TextEstimate, amount: PicoUsd): number | null {
  if (estimate.maxOutputTokens !== null) return estimate.maxOutputTokens;
  const input = priceWith(estimate, 0);
  const perToken = priceWith(estimate, 1) - input;
  return perToken === 0n ? null : Number((amount - input) / perToken);
}

/**
 * The charge by the upstream's usage, and by the gateway's own counts where the upstream gave none. Nothing is charged for a
 * failure, or where no upstream had answered before the client left. No input counts beyond the model's context, and no
 * output beyond the bound.
 *
 * @param bound of each answer, as it was held for; null for that of the model
 */
export function priceConsumption(
  estimate: TextEstimate,
  bound: number | null,
  consumption: TextConsumption,
): ConsumptionPrice {
  const { usage } = consumption;
  const mostInput = estimate.model.mostInputTokens;
  const mostOutput = mostOutputTokens(estimate, bound);
  const reportedInput = tokens(usage?.inputTotal, mostInput);
  const reportedOutput = tokens(usage?.outputTotal, mostOutput);
  const cacheReadTokens = tokens(usage?.cacheRead, mostInput) ?? 0;
  const cacheWriteTokens = tokens(usage?.cacheWrite, mostInput - cacheReadTokens) ?? 0;
  const reasoningTokens = tokens(usage?.reasoning, mostOutput);
  const countedOutput = Math.min(consumption.countedOutputTokens, mostOutput);
  const clamped =
    (usage?.inputTotal ?? 0) > mostInput ||
    (usage?.outputTotal ?? 0) > Math.max(mostOutput, LARGEST_LEAST_BOUND * estimate.choiceCount);
  if (consumption.status === 'failed' || (consumption.status === 'disconnected' && consumption.upstream === null)) {
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
    consumption.status === 'disconnected'
      ? Math.max(reportedOutput ?? 0, countedOutput)
      : (reportedOutput ?? countedOutput);
  const inputTokens = reportedInput ?? Math.min(estimate.estimatedInputTokens, mostInput);
  const price = priceText(
    estimate.model.pricing,
    { inputTotal: inputTokens, cacheRead: cacheReadTokens, cacheWrite: cacheWriteTokens, outputTotal: outputTokens },
    estimate.startedAtMs,
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

/** What is left of the context after the prompt bounds an answer too; upstreams refuse a bound that does not fit in. */
function longestAnswer({ model, estimatedInputTokens }: TextEstimate): number {
  const { contextTokens, mostOutputTokens } = model;
  if (contextTokens === null) return mostOutputTokens;
  return Math.max(1, Math.min(mostOutputTokens, contextTokens - estimatedInputTokens));
}

function priceWith({ model, mostInputTokens, choiceCount, startedAtMs }: TextEstimate, outputTokens: number): PicoUsd {
  const bounds = {
    inputTokens: mostInputTokens,
    outputTokens: Math.min(outputTokens * choiceCount, Number.MAX_SAFE_INTEGER),
  };
  return estimateText(model.pricing, bounds, startedAtMs);
}

function mostOutputTokens({ model, choiceCount }: TextEstimate, bound: number | null): number {
  return Math.min((bound ?? model.mostOutputTokens) * choiceCount, Number.MAX_SAFE_INTEGER);
}

/** A count as an upstream reported it, within what it can be; null for none, and for what is no count. */
function tokens(count: number | null | undefined, most: number): number | null {
  const isCount = count !== null && count !== undefined && Number.isSafeInteger(count) && count >= 0;
  return isCount ? Math.min(count, most) : null;
}
