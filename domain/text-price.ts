/** The price of a text request: its bound, the amount to hold, and the charge when it has ended. Contract 8.3. */
import type { PicoUsd } from './money.ts';
import { type AppliedModifier, boundText, priceText, type TextPricing } from './pricing.ts';
import { clampCount, type ReportedUsage, sumTokens, type TextTokens, tokensOf, toldUsage } from './text-tokens.ts';

export type { ReportedUsage };

/** The facts about a model that the price of a request depends on. */
export interface TextTerms {
  readonly pricing: TextPricing;
  /** Null when no number is published. */
  readonly contextTokens: number | null;
  /** The bounds for holding and charging: the published numbers, or else the operator's assumption. */
  readonly mostInputTokens: number;
  readonly mostOutputTokens: number;
  /** How many output tokens to hold for when a request sets no bound, if that fits easily. */
  readonly assumedOutputTokens: number;
}

/** The facts about a request's cost that are known before its model is called. */
export interface TextEstimate {
  readonly model: TextTerms;
  /** When the request arrived, in milliseconds since 1970; decides whether a peak applies. */
  readonly startedAtMs: number;
  /** The gateway's own count, in case the upstream does not report the input. */
  readonly estimateInputTokens: () => number;
  /** The most that the upstream may report. */
  readonly mostInputTokens: number;
  /** The request's own bound for each answer; null when it sets none. */
  readonly maxOutputTokens: number | null;
  /** Whether input may be written to a cache that keeps it for an hour. */
  readonly isCachedFor1h: boolean;
  /** How many answers the request asks for. */
  readonly choiceCount: number;
  /** How many calls of an upstream the request may take: one, or one for each answer. */
  readonly callCount: number;
}

/** The usage of one call of an upstream. */
export interface CallConsumption {
  readonly usage: ReportedUsage | null;
  /** The gateway's own count, in case the upstream reported nothing. */
  readonly countedOutputTokens: number;
  /** How many answers the call was to give; all of the request by default. */
  readonly choiceCount?: number | undefined;
}

/** The usage of one of the calls of a request that took several. */
export interface OtherCall extends CallConsumption {
  /** Whether its answer came to its end. */
  readonly isWhole: boolean;
}

/** The facts that decide the charge of a request that has ended; the usage is that of its first call. */
export interface TextConsumption extends CallConsumption {
  /** `succeeded`: the answer was complete; `disconnected`: the client left and pays for the output; `failed`: free. */
  readonly status: 'succeeded' | 'disconnected' | 'failed';
  /** The calls beside the first; none by default. */
  readonly otherCalls?: readonly OtherCall[] | undefined;
  /** The upstream that answered; null when none did. */
  readonly upstream: { readonly provider: string } | null;
}

/** In pico-USD: the least that must fit, the usual hold if it fits easily, and the hold if there is plenty. */
export interface HoldAmounts {
  readonly leastAmount: PicoUsd;
  readonly usualAmount: PicoUsd;
  readonly mostAmount: PicoUsd;
}

export interface ConsumptionPrice {
  readonly charge: PicoUsd;
  readonly modifiers: readonly AppliedModifier[];
  readonly tokens: TextTokens;
  /** How many calls of an upstream they are of. */
  readonly calls: number;
  /** Whether any of the counts is the gateway's own. */
  readonly estimated: boolean;
  /** Whether the upstream reported more tokens than it can have used. */
  readonly clamped: boolean;
}

/** No request is served with fewer output tokens per answer. */
const MIN_OUTPUT_TOKENS = 1_024;
/** Upstreams that refuse a smaller limit get up to this one; the client does not pay for what is cut off. */
const MAX_MIN_BOUND = 16;

/**
 * Returns the amount to hold: the price of the whole prompt at the highest rate, in each call, and of all answers. A request without
 * an output limit may get anything from a short answer to the model's longest.
 */
export function holdAmounts(estimate: TextEstimate): HoldAmounts {
  const { input, perToken } = boundPrice(estimate);
  const mostTokens = Math.floor(Number.MAX_SAFE_INTEGER / estimate.choiceCount);
  const priceWith = (outputTokens: number): PicoUsd => input + BigInt(Math.min(outputTokens, mostTokens)) * perToken;
  if (estimate.maxOutputTokens !== null) {
    const amount = priceWith(estimate.maxOutputTokens);
    return { leastAmount: amount, usualAmount: amount, mostAmount: amount };
  }
  const most = longestAnswer(estimate);
  return {
    leastAmount: priceWith(Math.min(MIN_OUTPUT_TOKENS, most)),
    usualAmount: priceWith(Math.min(estimate.model.assumedOutputTokens, most)),
    mostAmount: priceWith(most),
  };
}

/** How many output tokens an amount pays for in each answer; null when they are free and the request sets no bound. */
export function boundOf(estimate: TextEstimate, amount: PicoUsd): number | null {
  if (estimate.maxOutputTokens !== null) return estimate.maxOutputTokens;
  const { input, perToken } = boundPrice(estimate);
  return perToken === 0n ? null : Number((amount - input) / perToken);
}

/** What the prompt costs at most in all calls, and a token in each answer. */
function boundPrice(estimate: TextEstimate): { readonly input: PicoUsd; readonly perToken: PicoUsd } {
  const { model, mostInputTokens: inputTokens, isCachedFor1h, choiceCount, callCount, startedAtMs } = estimate;
  const { input, perOutputToken } = boundText(model.pricing, { inputTokens, isCachedFor1h }, startedAtMs);
  return { input: input * BigInt(callCount), perToken: perOutputToken * BigInt(choiceCount) };
}

/**
 * The usage that the complete answer to a call is charged for, which its client also gets: the counts that the upstream
 * reported, or the gateway's own counts where it reported nothing. Input counts up to the model's context, and output up
 * to the bound. Cached tokens and reasoning that were not reported stay null.
 *
 * @param bound the output tokens of each answer that were held for; null for the model's maximum
 */
export function chargedUsage(
  estimate: TextEstimate,
  bound: number | null,
  consumption: CallConsumption,
): ReportedUsage {
  return toldUsage(chargedTokens(estimate, bound, consumption, 'succeeded'), consumption.usage);
}

/** The usage of a failed call. @param bound the output tokens of each answer that were held for; null for the model's maximum */
export function usedTokens(
  estimate: TextEstimate,
  bound: number | null,
  consumption: CallConsumption,
): TextTokens & { readonly estimated: boolean } {
  const tokens = chargedTokens(estimate, bound, consumption, 'disconnected');
  const { input, output } = reportedTokens(estimate, bound, consumption);
  return { ...tokens, estimated: input === null || output !== tokens.outputTokens };
}

function chargedTokens(
  estimate: TextEstimate,
  bound: number | null,
  { usage, countedOutputTokens, choiceCount }: CallConsumption,
  status: TextConsumption['status'],
): TextTokens {
  const mostInput = estimate.model.mostInputTokens;
  const mostOutput = mostOutputTokens(estimate, bound, choiceCount);
  const reportedOutput = clampCount(usage?.outputTotal, mostOutput);
  const countedOutput = Math.min(countedOutputTokens, mostOutput);
  // The output reported before the end is what was produced by then.
  const outputTokens =
    status === 'disconnected' ? Math.max(reportedOutput ?? 0, countedOutput) : (reportedOutput ?? countedOutput);
  const inputTokens = clampCount(usage?.inputTotal, mostInput) ?? Math.min(estimate.estimateInputTokens(), mostInput);
  // Output that was not held for is not charged.
  const heldUsage = usage && !estimate.isCachedFor1h ? { ...usage, cacheWrite1h: 0 } : usage;
  return tokensOf(heldUsage, inputTokens, outputTokens);
}

/**
 * The charge for the tokens of {@link chargedUsage}. Failures are free, and so are requests whose client left before
 * any upstream had answered. One that left later pays for what was generated. A request that took several calls pays
 * for the tokens of all.
 *
 * @param bound the output tokens of each answer that were held for; null for the model's maximum
 */
export function priceConsumption(
  estimate: TextEstimate,
  bound: number | null,
  consumption: TextConsumption,
): ConsumptionPrice {
  const { status, upstream, otherCalls = [] } = consumption;
  const calls: readonly (CallConsumption & Pick<TextConsumption, 'status'>)[] = [
    consumption,
    ...otherCalls.map((call) => ({ ...call, status: call.isWhole ? ('succeeded' as const) : status })),
  ];
  const reported = calls.map((call) => reportedTokens(estimate, bound, call));
  const clamped = calls.some((call) => isBeyondBounds(estimate, bound, call));
  if (status === 'failed' || (status === 'disconnected' && upstream === null)) {
    const known = reported.map(({ usage, input, output }) => tokensOf(usage, input ?? 0, output ?? 0));
    return { charge: 0n, modifiers: [], tokens: sumTokens(known), calls: calls.length, estimated: false, clamped };
  }
  const charged = calls.map((call) => chargedTokens(estimate, bound, call, call.status));
  const tokens = sumTokens(charged);
  const { charge, modifiers } = priceText(
    estimate.model.pricing,
    {
      inputTotal: tokens.inputTokens,
      cacheRead: tokens.cacheReadTokens,
      cacheWrite: tokens.cacheWriteTokens,
      cacheWrite1h: tokens.cacheWrite1hTokens,
      outputTotal: tokens.outputTokens,
      calls: calls.length,
    },
    estimate.startedAtMs,
  );
  const estimated = reported.some(
    ({ input, output }, index) => input === null || output !== charged[index]?.outputTokens,
  );
  return { charge, modifiers, tokens, calls: calls.length, estimated, clamped };
}

/** The reported counts of a call, clamped; null where nothing was reported. */
function reportedTokens(estimate: TextEstimate, bound: number | null, { usage, choiceCount }: CallConsumption) {
  return {
    usage,
    input: clampCount(usage?.inputTotal, estimate.model.mostInputTokens),
    output: clampCount(usage?.outputTotal, mostOutputTokens(estimate, bound, choiceCount)),
  };
}

function isBeyondBounds(
  estimate: TextEstimate,
  bound: number | null,
  { usage, choiceCount }: CallConsumption,
): boolean {
  const mostOutput = mostOutputTokens(estimate, bound, choiceCount);
  const leastBound = MAX_MIN_BOUND * (choiceCount ?? estimate.choiceCount);
  return (
    (usage?.inputTotal ?? 0) > estimate.model.mostInputTokens ||
    (usage?.outputTotal ?? 0) > Math.max(mostOutput, leastBound)
  );
}

/** The context left after the prompt limits an answer too: upstreams refuse a bound that does not fit. */
function longestAnswer({ model, mostInputTokens, estimateInputTokens }: TextEstimate): number {
  const { contextTokens, mostOutputTokens } = model;
  const certainlyFits = contextTokens === null || contextTokens - mostInputTokens >= mostOutputTokens;
  if (certainlyFits) return mostOutputTokens;
  return Math.max(1, Math.min(mostOutputTokens, contextTokens - estimateInputTokens()));
}

function mostOutputTokens(
  { model, choiceCount: allChoices }: TextEstimate,
  bound: number | null,
  choiceCount = allChoices,
): number {
  return Math.min((bound ?? model.mostOutputTokens) * choiceCount, Number.MAX_SAFE_INTEGER);
}

/**
 * Returns the cost at list price that a failed request may have caused the operator: an upstream that did not answer in time may have
 * generated everything that was held for. Finance sums the same (`db/queries/margins.ts`).
 */
export function possibleLossOf(
  { errorCode, upstream }: { readonly errorCode: string | null; readonly upstream: object | null },
  held: PicoUsd,
): PicoUsd {
  return errorCode === 'processing_timeout' && upstream !== null ? held : 0n;
}
