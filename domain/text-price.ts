/** The price of a text request: its bound, the amount to hold, and the charge on completion. Contract 8.3. */
import type { PicoUsd } from './money.ts';
import { type AppliedModifier, boundText, priceText, type TextPriceLimits, type TextPricing } from './pricing.ts';
import {
  clampCount,
  type ReportedUsage,
  sumTokens,
  type TextTokens,
  tokensOf,
  reportedUsage,
  usageOf,
} from './text-tokens.ts';

export type { ReportedUsage };

/** The facts about a model that the price of a request depends on. */
export interface TextTerms {
  readonly pricing: TextPricing;
  /** Null when the vendor publishes no number. */
  readonly contextTokens: number | null;
  /** The bounds for holding and charging: the vendor's published numbers, or the operator's assumption. */
  readonly maxInputTokens: number;
  readonly outputTokenLimit: number;
  /** The output tokens to hold for when a request sets no bound, if the balance easily covers the hold. */
  readonly assumedOutputTokens: number;
}

/** The facts about a request's cost that are known before its model is called. */
export interface TextEstimate extends TextPriceLimits {
  readonly model: TextTerms;
  /** When the request arrived, in milliseconds since 1970; selects the peaks. */
  readonly startedAtMs: number;
  /** The gateway's own count, in case the upstream does not report the input. */
  readonly estimateInputTokens: () => number;
  /** The gateway's own count of the audio in the input; 0 by default. */
  readonly estimateAudioInputTokens?: (() => number) | undefined;
  /** The request's own bound for each answer; null when it sets none. */
  readonly maxOutputTokens: number | null;
  /**
   * The most seconds of audio that an upstream can report, where more may be due than was held for, because the file
   * announced less; `audioSeconds` by default.
   */
  readonly maxAudioSeconds?: number | undefined;
  /** The most searches of the web that are charged, where the upstream takes no bound; `webSearches` by default. */
  readonly maxWebSearches?: number | undefined;
  /** How many answers the request asks for. */
  readonly choiceCount: number;
  /** The most upstream calls for the request: one, or one for each answer. */
  readonly callCount: number;
}

/** The usage of one upstream call. */
export interface CallConsumption {
  readonly usage: ReportedUsage | null;
  /** The gateway's own count, in case the upstream reported nothing. */
  readonly countedOutputTokens: number;
  /** The part of the gateway's count that is audio; 0 by default. */
  readonly countedAudioTokens?: number | undefined;
  /** The seconds of spoken or transcribed audio, rounded up; 0 by default. */
  readonly audioSeconds?: number | undefined;
  /** The searches by which documents were ranked; 0 by default. */
  readonly searchUnits?: number | undefined;
  /** The number of answers that the call requested; all answers of the request by default. */
  readonly choiceCount?: number | undefined;
}

/** The usage of a further call of a request with several calls. */
export interface AdditionalCall extends CallConsumption {
  /** Whether the answer is complete. */
  readonly isWhole: boolean;
}

/** The facts that decide the charge of a completed request. The usage is that of its first call. */
export interface TextConsumption extends CallConsumption {
  /** `succeeded`: complete; `disconnected`: the client left, and pays for the generated output; `failed`: free. */
  readonly status: 'succeeded' | 'disconnected' | 'failed';
  /** The calls after the first; none by default. */
  readonly otherCalls?: readonly AdditionalCall[] | undefined;
  /** The upstream that answered; null if none answered. */
  readonly upstream: { readonly provider: string } | null;
}

/** In pico-USD: the smallest hold to serve the request with, the usual hold, and the hold if the balance is ample. */
export interface HoldAmounts {
  readonly minAmount: PicoUsd;
  readonly usualAmount: PicoUsd;
  readonly maxAmount: PicoUsd;
}

export interface ConsumptionPrice {
  readonly charge: PicoUsd;
  readonly modifiers: readonly AppliedModifier[];
  readonly tokens: TextTokens;
  /** The number of upstream calls that used the tokens. */
  readonly calls: number;
  /** Whether the gateway counted any of the tokens itself. */
  readonly estimated: boolean;
  /** Whether the upstream reported more tokens than possible. */
  readonly clamped: boolean;
}

/** The least output tokens per answer for which the gateway serves a request without a bound. */
const MIN_OUTPUT_TOKENS = 1_024;
/** The largest minimum of upstreams' output limits; the client does not pay for tokens beyond its own smaller bound. */
const MAX_MIN_BOUND = 16;

/**
 * Returns the amounts to hold: the price of the whole prompt at the highest rate in each call, and of all answers. The
 * amounts of a request without an output limit range from a short answer to the model's longest.
 */
export function holdAmounts(estimate: TextEstimate): HoldAmounts {
  const { input, perToken } = computeMaxPrices(estimate);
  const maxTokens = Math.floor(Number.MAX_SAFE_INTEGER / estimate.choiceCount);
  const priceWith = (outputTokens: number): PicoUsd => input + BigInt(Math.min(outputTokens, maxTokens)) * perToken;
  if (estimate.maxOutputTokens !== null) {
    const amount = priceWith(estimate.maxOutputTokens);
    return { minAmount: amount, usualAmount: amount, maxAmount: amount };
  }
  const most = longestAnswer(estimate);
  return {
    minAmount: priceWith(Math.min(MIN_OUTPUT_TOKENS, most)),
    usualAmount: priceWith(Math.min(estimate.model.assumedOutputTokens, most)),
    maxAmount: priceWith(most),
  };
}

/** The output tokens per answer that an amount pays for; null if they are free and the request sets no bound. */
export function affordableOutputTokens(estimate: TextEstimate, amount: PicoUsd): number | null {
  if (estimate.maxOutputTokens !== null) return estimate.maxOutputTokens;
  const { input, perToken } = computeMaxPrices(estimate);
  return perToken === 0n ? null : Number((amount - input) / perToken);
}

/** The most that the prompt can cost in all calls, and the price of one output token in every answer. */
function computeMaxPrices(estimate: TextEstimate): { readonly input: PicoUsd; readonly perToken: PicoUsd } {
  const { model, choiceCount, callCount, startedAtMs } = estimate;
  const { input, perOutputToken } = boundText(model.pricing, estimate, startedAtMs);
  return { input: input * BigInt(callCount), perToken: perOutputToken * BigInt(choiceCount) };
}

/**
 * Returns the charged usage of a complete answer, which the client also gets: the counts that the upstream reported, or
 * the gateway's own counts where it reported none. Input counts up to the model's maximum, and output up to the bound.
 * Cached tokens and reasoning that were not reported stay null.
 *
 * @param bound the output tokens of each answer that were held for; null for the model's maximum
 */
export function chargedUsage(
  estimate: TextEstimate,
  bound: number | null,
  consumption: CallConsumption,
): ReportedUsage {
  return reportedUsage(chargedTokens(estimate, bound, consumption, 'succeeded'), consumption.usage);
}

/** The usage of a failed call. @param bound as for {@link chargedUsage} */
export function countFailedCallTokens(
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
  { usage, countedOutputTokens, countedAudioTokens, choiceCount, audioSeconds, searchUnits }: CallConsumption,
  status: TextConsumption['status'],
): TextTokens {
  const maxInput = estimate.model.maxInputTokens;
  const maxOutput = outputTokenLimit(estimate, bound, choiceCount);
  const reportedOutput = clampCount(usage?.outputTotal, maxOutput);
  const countedOutput = Math.min(countedOutputTokens, maxOutput);
  // A count of output that was reported before the end covers only the output until then.
  const outputTokens =
    status === 'disconnected' ? Math.max(reportedOutput ?? 0, countedOutput) : (reportedOutput ?? countedOutput);
  const inputTokens = clampCount(usage?.inputTotal, maxInput) ?? Math.min(estimate.estimateInputTokens(), maxInput);
  const covered = usage && coveredUsage(usage, estimate);
  const hasAudio = estimate.hasAudioInput || estimate.hasAudioOutput;
  return {
    ...tokensOf(
      hasAudio ? withAudio(covered, estimate, countedAudioTokens, status) : covered,
      inputTokens,
      outputTokens,
    ),
    characters: estimate.characters,
    audioSeconds: clampCount(audioSeconds, estimate.maxAudioSeconds ?? estimate.audioSeconds) ?? 0,
    webSearches: clampCount(usage?.webSearches, estimate.maxWebSearches ?? estimate.webSearches ?? 0) ?? 0,
    searchUnits: clampCount(searchUnits, estimate.searchUnits ?? 0) ?? 0,
  };
}

/** Adds the gateway's own counts of audio that the upstream did not report: audio has other prices than text. */
function withAudio(
  usage: ReportedUsage | null,
  { hasAudioInput, hasAudioOutput, estimateAudioInputTokens }: TextEstimate,
  counted = 0,
  status: TextConsumption['status'],
): ReportedUsage {
  const { audioInput = null, audioOutput = null } = usage ?? {};
  // As for all output, a report before the end covers only the output until then.
  const output = status === 'disconnected' ? Math.max(audioOutput ?? 0, counted) : (audioOutput ?? counted);
  return {
    ...(usage ?? usageOf(() => null)),
    audioInput: hasAudioInput ? (audioInput ?? estimateAudioInputTokens?.() ?? 0) : 0,
    audioOutput: hasAudioOutput ? output : 0,
  };
}

/** The hold covers one-hour cache writes and audio only if the request may cause them. */
function coveredUsage(
  usage: ReportedUsage,
  { isCachedFor1h, hasAudioInput, hasAudioOutput }: TextEstimate,
): ReportedUsage {
  return {
    ...usage,
    cacheWrite1h: isCachedFor1h ? usage.cacheWrite1h : 0,
    audioInput: hasAudioInput ? usage.audioInput : 0,
    audioCacheRead: hasAudioInput ? usage.audioCacheRead : 0,
    audioOutput: hasAudioOutput ? usage.audioOutput : 0,
  };
}

/**
 * Returns the charge for the tokens of {@link chargedUsage}. Failed requests are free, and so are requests whose client
 * left before an upstream answered. A client that left later pays for the generated output. A request with several
 * calls pays for the tokens of all calls.
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
      audioInput: tokens.audioInputTokens,
      audioCacheRead: tokens.audioCacheReadTokens,
      audioOutput: tokens.audioOutputTokens,
      characters: tokens.characters,
      audioSeconds: tokens.audioSeconds,
      webSearches: tokens.webSearches,
      searchUnits: tokens.searchUnits,
      calls: calls.length,
    },
    estimate.startedAtMs,
  );
  const estimated = reported.some(
    ({ usage, input, output }, index) =>
      input === null || output !== charged[index]?.outputTokens || hasCountedAudio(usage, charged[index]),
  );
  return { charge, modifiers, tokens, calls: calls.length, estimated, clamped };
}

/** Whether the gateway counted any of the audio. */
function hasCountedAudio(usage: ReportedUsage | null, { audioInputTokens, audioOutputTokens }: TextTokens): boolean {
  return (
    (audioInputTokens > 0 && (usage?.audioInput ?? null) === null) ||
    (audioOutputTokens > 0 && audioOutputTokens !== usage?.audioOutput)
  );
}

/** The reported counts of a call, clamped; null where nothing was reported. */
function reportedTokens(estimate: TextEstimate, bound: number | null, { usage, choiceCount }: CallConsumption) {
  const { maxInputTokens } = estimate.model;
  const maxOutput = outputTokenLimit(estimate, bound, choiceCount);
  // The price of voice may have no tokens, of which none are reported then.
  return {
    usage,
    input: maxInputTokens === 0 ? 0 : clampCount(usage?.inputTotal, maxInputTokens),
    output: maxOutput === 0 ? 0 : clampCount(usage?.outputTotal, maxOutput),
  };
}

function isBeyondBounds(
  estimate: TextEstimate,
  bound: number | null,
  { usage, choiceCount }: CallConsumption,
): boolean {
  const maxOutput = outputTokenLimit(estimate, bound, choiceCount);
  const minBound = MAX_MIN_BOUND * (choiceCount ?? estimate.choiceCount);
  return (
    (usage?.inputTotal ?? 0) > estimate.model.maxInputTokens ||
    (usage?.outputTotal ?? 0) > Math.max(maxOutput, minBound)
  );
}

/** The context minus the prompt also limits an answer: upstreams refuse a bound that does not fit. */
function longestAnswer({ model, maxInputTokens, estimateInputTokens }: TextEstimate): number {
  const { contextTokens, outputTokenLimit } = model;
  const certainlyFits = contextTokens === null || contextTokens - maxInputTokens >= outputTokenLimit;
  if (certainlyFits) return outputTokenLimit;
  return Math.max(1, Math.min(outputTokenLimit, contextTokens - estimateInputTokens()));
}

function outputTokenLimit(
  { model, choiceCount: allChoices }: TextEstimate,
  bound: number | null,
  choiceCount = allChoices,
): number {
  return Math.min((bound ?? model.outputTokenLimit) * choiceCount, Number.MAX_SAFE_INTEGER);
}

/**
 * Returns the cost at list price that a failed request may have caused the operator: an upstream that did not answer in
 * time may have generated as much as was held. `db/queries/margins.ts` sums the same.
 */
export function computePossibleLoss(
  { errorCode, upstream }: { readonly errorCode: string | null; readonly upstream: object | null },
  held: PicoUsd,
): PicoUsd {
  return errorCode === 'processing_timeout' && upstream !== null ? held : 0n;
}
