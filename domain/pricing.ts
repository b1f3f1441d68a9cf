/**
 * Exact prices and costs: amounts are pico-USD (`domain/money.ts`) and factors are rational numbers. No result needs
 * a fraction of a pico-USD, because {@link assertExactPricing} refuses such prices at start.
 *
 * The price of media depends on the request (contract 8.5), the price of text on the used tokens (contract 2.6).
 */
import type { JsonObject } from './json.ts';
import { larger, type PicoUsd, parseUsd } from './money.ts';
import { type Rational, parseRational } from './rational.ts';

/** Pico-USD for one token of each class, one character, one second and one search. */
export interface TokenRates {
  /** Input that is neither read from a cache nor written to one. */
  readonly input: PicoUsd;
  readonly cachedInput: PicoUsd;
  readonly cacheWrite: PicoUsd;
  /** Input written to a cache that keeps it for an hour. */
  readonly cacheWrite1h: PicoUsd;
  /** Reasoning tokens are output tokens. */
  readonly output: PicoUsd;
  /** Audio input that is not read from a cache. */
  readonly audioInput: PicoUsd;
  readonly cachedAudioInput: PicoUsd;
  readonly audioOutput: PicoUsd;
  /** A character of text to speak. */
  readonly character: PicoUsd;
  /** A second of spoken or transcribed audio. */
  readonly audioSecond: PicoUsd;
  /** A search of the web that a model's answer needed. Tiers and peaks do not multiply it. */
  readonly webSearch: PicoUsd;
  /** A search of up to 100 documents, as vendors of reranking count them. */
  readonly searchUnit: PicoUsd;
}

/** The cost of a text model at one upstream, in one version of the catalogue. */
export interface TextCost {
  /** The version of the catalogue. */
  readonly version: string;
  readonly model: string;
  readonly upstream: string;
  readonly upstreamModel: string;
  readonly pricing: TextPricing;
}

/** A surcharge for long prompts: beyond the threshold, every token of the request costs more. */
export interface PriceTier {
  readonly thresholdTokens: number;
  /** Whether a prompt of exactly `thresholdTokens` has the base price (`over`) or the tier's (`at_or_over`). */
  readonly applies: 'over' | 'at_or_over';
  readonly factor: Rational;
}

/** Hours of the week during which every token costs more. */
export interface PricePeak {
  /** The offset of the windows' clock from UTC: 480 for UTC+8. */
  readonly utcOffsetMinutes: number;
  /** 0 is Sunday, 6 is Saturday, on that clock. */
  readonly weekdays: readonly number[];
  /** Minutes since midnight on that clock; the first minute is included, the last is not. */
  readonly windows: readonly { readonly fromMinute: number; readonly toMinute: number }[];
  readonly factor: Rational;
}

/** The price of a text model. Each tier and peak that applies multiplies all rates but that of a search. */
export interface TextPricing {
  readonly rates: TokenRates;
  readonly tiers: readonly PriceTier[];
  readonly peaks: readonly PricePeak[];
  /** What requests of batches cost, as a part of these prices; all by default. */
  readonly batchFactor?: Rational | undefined;
  /** In the price of a request of a batch: the factor that applies. */
  readonly batch?: Rational | undefined;
}

/** The price of a media model: per second, video or image. */
export interface MediaPricing {
  readonly per: 'second' | 'video' | 'image';
  /** The keys are the model's resolutions of videos or tiers of images. */
  readonly byResolution: Readonly<Record<string, PicoUsd>>;
  readonly modifiers: readonly PriceModifier[];
}

/** A change of a price or cost by parameters of the request (docs/catalogue.md), in a form that tasks store as JSON. */
export interface PriceModifier {
  /** The parameters that must all have these values. */
  readonly when: Readonly<Record<string, string | number | boolean>>;
  /** In pico-USD; added to the price of a unit. */
  readonly addition: string;
  /** A decimal; multiplies the sum. */
  readonly factor: string;
}

/** Tokens of one request. */
export interface TokenUsage {
  /** The whole prompt, cached or not. */
  readonly inputTotal: number;
  /** The part of `inputTotal` that was read from a cache. */
  readonly cacheRead: number;
  /** The part of `inputTotal` that was written to a cache. */
  readonly cacheWrite: number;
  /** The part of `cacheWrite` that is kept for an hour. */
  readonly cacheWrite1h: number;
  /** Everything generated, reasoning included. */
  readonly outputTotal: number;
  /** The part of `inputTotal` that is audio; 0 by default, like the following counts. */
  readonly audioInput?: number | undefined;
  /** The part of `cacheRead` and of `audioInput` that is both. */
  readonly audioCacheRead?: number | undefined;
  /** The part of `outputTotal` that is audio. */
  readonly audioOutput?: number | undefined;
  /** Characters of text to speak. */
  readonly characters?: number | undefined;
  /** Seconds of spoken or transcribed audio. */
  readonly audioSeconds?: number | undefined;
  /** Searches of the web. */
  readonly webSearches?: number | undefined;
  /** Searches by which documents were ranked. */
  readonly searchUnits?: number | undefined;
  /** The number of calls with the same prompt in this usage; 1 by default. */
  readonly calls?: number | undefined;
}

/** The kinds of {@link AppliedModifier}. */
export const MODIFIER_KINDS = ['tier', 'peak', 'batch'] as const;

/** A modifier that applied, in a form that a usage record can keep. */
export interface AppliedModifier {
  readonly kind: (typeof MODIFIER_KINDS)[number];
  readonly factor: string;
}

export interface TextPrice {
  readonly charge: PicoUsd;
  /** The rates after all modifiers, so that the charge can be recomputed from the usage alone. */
  readonly ratesApplied: TokenRates;
  readonly modifiers: readonly AppliedModifier[];
}

const TOKENS_PER_PRICE = 1_000_000n;
/** Vendors charge the same for a search in any prompt at any hour. */
const UNMULTIPLIED: keyof TokenRates = 'webSearch';

/**
 * The prices of text by their names: the rate, and the number of units that a price is for. A price that is not given
 * equals the rate `like`, or 0 with null ({@link completeRates}).
 */
export const TEXT_PRICES = {
  input: { rate: 'input', units: TOKENS_PER_PRICE },
  output: { rate: 'output', units: TOKENS_PER_PRICE },
  cached_input: { rate: 'cachedInput', units: TOKENS_PER_PRICE },
  cache_write: { rate: 'cacheWrite', units: TOKENS_PER_PRICE },
  cache_write_1h: { rate: 'cacheWrite1h', units: TOKENS_PER_PRICE },
  audio_input: { rate: 'audioInput', units: TOKENS_PER_PRICE, like: 'input' },
  cached_audio_input: { rate: 'cachedAudioInput', units: TOKENS_PER_PRICE, like: 'cachedInput' },
  audio_output: { rate: 'audioOutput', units: TOKENS_PER_PRICE, like: 'output' },
  character: { rate: 'character', units: TOKENS_PER_PRICE, like: null },
  audio_second: { rate: 'audioSecond', units: 1n, like: null },
  web_search: { rate: 'webSearch', units: 1n, like: null },
  search_unit: { rate: 'searchUnit', units: 1n, like: null },
} as const satisfies Readonly<
  Record<string, { rate: keyof TokenRates; units: bigint; like?: keyof TokenRates | null }>
>;

/** Rates with those that are not given: audio like other tokens, other units free. */
export function completeRates(
  given: Pick<TokenRates, 'input' | 'cachedInput' | 'cacheWrite' | 'cacheWrite1h' | 'output'> & {
    readonly [Name in keyof TokenRates]?: PicoUsd | undefined;
  },
): TokenRates {
  return {
    ...given,
    audioInput: given.audioInput ?? given.input,
    cachedAudioInput: given.cachedAudioInput ?? given.cachedInput,
    audioOutput: given.audioOutput ?? given.output,
    character: given.character ?? 0n,
    audioSecond: given.audioSecond ?? 0n,
    webSearch: given.webSearch ?? 0n,
    searchUnit: given.searchUnit ?? 0n,
  };
}

export type TextPriceName = keyof typeof TEXT_PRICES;

/** The names in the order of {@link TEXT_PRICES}. */
export const TEXT_PRICE_NAMES: readonly TextPriceName[] = Object.keys(TEXT_PRICES).filter(isTextPriceName);

function isTextPriceName(name: string): name is TextPriceName {
  return Object.hasOwn(TEXT_PRICES, name);
}

const MS_PER_MINUTE = 60_000;
const MINUTES_PER_DAY = 24 * 60;
/** 1 January 1970 was a Thursday. */
const WEEKDAY_OF_EPOCH = 4;

/**
 * Reads the factor of a tier or peak, such as `"1.6"`.
 *
 * @throws RangeError when it is not a plain decimal or is below 1: a hold precedes the count of the tokens, and could
 *   not cover a price that falls as the count grows
 */
export function parseFactor(decimal: string): Rational {
  const factor = parseRational(decimal);
  if (factor.numerator < factor.denominator) throw new RangeError(`a factor must be at least 1: ${decimal}`);
  return factor;
}

/**
 * Reads a price in USD per 1M tokens, such as `"0.05775"`.
 *
 * @returns pico-USD per token
 * @throws RangeError when it is not a plain decimal, is negative, or is finer than a pico-USD per token
 */
export function parsePricePerMillionTokens(usd: string): PicoUsd {
  const perMillion = parseUsd(usd);
  if (perMillion < 0n) throw new RangeError(`a price must not be negative: ${usd}`);
  if (perMillion % TOKENS_PER_PRICE !== 0n) {
    throw new RangeError(`a price per 1M tokens has at most 6 decimals: ${usd}`);
  }
  return perMillion / TOKENS_PER_PRICE;
}

/**
 * Reads the price of a name in {@link TEXT_PRICES}, in USD for its units.
 *
 * @returns pico-USD for one unit
 * @throws RangeError like {@link parsePricePerMillionTokens}
 */
export function parseTextPrice(name: TextPriceName, usd: string): PicoUsd {
  if (TEXT_PRICES[name].units === TOKENS_PER_PRICE) return parsePricePerMillionTokens(usd);
  const price = parseUsd(usd);
  if (price < 0n) throw new RangeError(`a price must not be negative: ${usd}`);
  return price;
}

/** The prices in pico-USD for their units, without those that `like` sets. */
export function listTextPrices(rates: TokenRates): readonly (readonly [TextPriceName, PicoUsd])[] {
  return TEXT_PRICE_NAMES.flatMap((name) => {
    const price = ownTextPrice(name, rates);
    return price === undefined ? [] : [[name, price] as const];
  });
}

/** The price in pico-USD for its units; undefined if `like` sets it. */
export function ownTextPrice(name: TextPriceName, rates: TokenRates): PicoUsd | undefined {
  const { rate, units, like }: { rate: keyof TokenRates; units: bigint; like?: keyof TokenRates | null } =
    TEXT_PRICES[name];
  const usual = like === undefined ? undefined : like === null ? 0n : rates[like];
  return rates[rate] === usual ? undefined : rates[rate] * units;
}

/**
 * Refuses prices whose rates, times their modifiers, would not be whole pico-USD.
 *
 * @throws RangeError naming the rate
 */
export function assertExactPricing({ rates, tiers, peaks }: TextPricing): void {
  const denominator = denominatorOf([...tiers, ...peaks].map(({ factor }) => factor));
  for (const [name, rate] of Object.entries<PicoUsd>({ ...rates })) {
    if (name !== UNMULTIPLIED && rate % denominator !== 0n) {
      throw new RangeError(`the ${name} rate times its factors is not a whole number of pico-USD per token`);
    }
  }
}

/**
 * The price of a text request.
 *
 * @param usage whole numbers of tokens
 * @param startedAtMs when the request arrived, in milliseconds since 1970; selects the peaks
 * @throws RangeError when a count is not a whole number or is negative
 */
export function priceText(pricing: TextPricing, usage: TokenUsage, startedAtMs: number): TextPrice {
  const {
    audioInput = 0,
    audioCacheRead = 0,
    audioOutput = 0,
    characters = 0,
    audioSeconds = 0,
    webSearches = 0,
    searchUnits = 0,
  } = usage;
  const cacheWrite5m = usage.cacheWrite - usage.cacheWrite1h;
  // An upstream may count cached tokens outside the input; plain input must not become negative then.
  const plainInput = Math.max(0, usage.inputTotal - usage.cacheRead - usage.cacheWrite);
  const plainAudio = audioInput - audioCacheRead;
  const counts: Readonly<Record<keyof TokenRates, number>> = {
    input: plainInput - plainAudio,
    cachedInput: usage.cacheRead - audioCacheRead,
    cacheWrite: cacheWrite5m,
    cacheWrite1h: usage.cacheWrite1h,
    output: usage.outputTotal - audioOutput,
    audioInput: plainAudio,
    cachedAudioInput: audioCacheRead,
    audioOutput,
    character: characters,
    audioSecond: audioSeconds,
    webSearch: webSearches,
    searchUnit: searchUnits,
  };
  assertCount(usage.inputTotal);
  // Tiers apply to the length of the prompt in one call.
  const { rates, modifiers } = ratesOf(pricing, Math.floor(usage.inputTotal / (usage.calls ?? 1)), startedAtMs);
  let charge = 0n;
  for (const name of TEXT_PRICE_NAMES) {
    const { rate } = TEXT_PRICES[name];
    charge += priceOf(counts[rate], rates[rate]);
  }
  return { charge, ratesApplied: rates, modifiers };
}

/** The price of requests of batches. Their rates are rounded down to whole pico-USD. */
export function batchPricing(pricing: TextPricing): TextPricing {
  return { ...pricing, batch: pricing.batchFactor };
}

/** What the price of a text request can depend on. */
export interface TextPriceLimits {
  /** The most tokens that the prompt can have in the upstream's count. */
  readonly maxInputTokens: number;
  /** Whether input may be written to a cache that keeps it for an hour. */
  readonly isCachedFor1h: boolean;
  /** Whether the prompt and the answer may have audio. */
  readonly hasAudioInput: boolean;
  readonly hasAudioOutput: boolean;
  /** The most characters of text to speak, and seconds of spoken or transcribed audio. */
  readonly characters: number;
  readonly audioSeconds: number;
  /** The most searches of the web; 0 by default. */
  readonly webSearches?: number | undefined;
  /** The most searches by which documents are ranked; 0 by default. */
  readonly searchUnits?: number | undefined;
}

/** The bound of a text request's price, in pico-USD. */
export interface TextPriceBound {
  /** The price of the whole prompt at the highest rate for input, with all characters, seconds and searches. */
  readonly input: PicoUsd;
  readonly perOutputToken: PicoUsd;
}

/**
 * Bounds the price of a text request before it is sent upstream: no usage within the limits costs more.
 *
 * @param startedAtMs the same moment as for the charge
 */
export function boundText(
  pricing: TextPricing,
  {
    maxInputTokens,
    isCachedFor1h,
    hasAudioInput,
    hasAudioOutput,
    characters,
    audioSeconds,
    webSearches = 0,
    searchUnits = 0,
  }: TextPriceLimits,
  startedAtMs: number,
): TextPriceBound {
  assertCount(maxInputTokens);
  const { rates } = ratesOf(pricing, maxInputTokens, startedAtMs);
  const cached = larger(rates.cachedInput, larger(rates.cacheWrite, isCachedFor1h ? rates.cacheWrite1h : 0n));
  const audio = hasAudioInput ? larger(rates.audioInput, rates.cachedAudioInput) : 0n;
  return {
    input:
      priceOf(maxInputTokens, larger(larger(rates.input, cached), audio)) +
      priceOf(characters, rates.character) +
      priceOf(audioSeconds, rates.audioSecond) +
      priceOf(webSearches, rates.webSearch) +
      priceOf(searchUnits, rates.searchUnit),
    perOutputToken: hasAudioOutput ? larger(rates.output, rates.audioOutput) : rates.output,
  };
}

function priceOf(count: number, rate: PicoUsd): PicoUsd {
  assertCount(count);
  return count === 0 ? 0n : BigInt(count) * rate;
}

function assertCount(tokens: number): void {
  if (!Number.isSafeInteger(tokens) || tokens < 0) throw new RangeError(`not a number of tokens: ${tokens}`);
}

/** Returns the rates of a prompt by its length and time, with the modifiers that applied. */
function ratesOf(
  { rates, tiers, peaks, batch }: TextPricing,
  promptTokens: number,
  atMs: number,
): { readonly rates: TokenRates; readonly modifiers: readonly AppliedModifier[] } {
  const applied = [
    ...tiers
      .filter((tier) => isTierReached(tier, promptTokens))
      .map(({ factor }) => ({ kind: 'tier' as const, factor })),
    ...peaks.filter((peak) => isPeakAt(peak, atMs)).map(({ factor }) => ({ kind: 'peak' as const, factor })),
    ...(batch === undefined ? [] : [{ kind: 'batch' as const, factor: batch }]),
  ];
  return {
    rates: multiplyRates(
      rates,
      applied.map(({ factor }) => factor),
    ),
    modifiers: applied.map(({ kind, factor }) => ({ kind, factor: factor.decimal })),
  };
}

/**
 * The price of a requested video or image. `parameters` includes the defaults.
 *
 * @throws RangeError when the resolution has no price or the duration is not a positive whole number of seconds
 */
export function priceMedia(
  { per, byResolution, modifiers }: MediaPricing,
  { resolution, durationSeconds = 1, parameters = {} }: MediaOrder,
): PicoUsd {
  const price = byResolution[resolution];
  if (price === undefined) throw new RangeError(`no price for ${resolution}`);
  if (!Number.isSafeInteger(durationSeconds) || durationSeconds <= 0) {
    throw new RangeError(`not a duration in whole seconds: ${durationSeconds}`);
  }
  return modifyPrice(price, modifiers, parameters) * BigInt(per === 'second' ? durationSeconds : 1);
}

export interface MediaOrder {
  readonly resolution: string;
  readonly durationSeconds?: number;
  readonly parameters?: JsonObject | undefined;
}

/** Applies the modifiers whose conditions the parameters meet. @returns pico-USD, rounded down */
export function modifyPrice(price: PicoUsd, modifiers: readonly PriceModifier[], parameters: JsonObject = {}): PicoUsd {
  const applied = modifiers.filter(({ when }) =>
    Object.entries(when).every(([name, value]) => parameters[name] === value),
  );
  const sum = applied.reduce((total, { addition }) => total + BigInt(addition), price);
  const factors = applied.map(({ factor }) => parseRational(factor));
  return (sum * productOf(factors, 'numerator')) / productOf(factors, 'denominator');
}

/**
 * Refuses prices that modifiers would make finer than a pico-USD.
 *
 * @throws RangeError
 */
export function assertExactMediaPricing({ byResolution, modifiers }: Omit<MediaPricing, 'per'>): void {
  const denominator = denominatorOf(modifiers.map(({ factor }) => parseRational(factor)));
  const amounts = [...Object.values(byResolution), ...modifiers.map(({ addition }) => BigInt(addition))];
  if (amounts.some((amount) => amount % denominator !== 0n)) {
    throw new RangeError('a price times its factors is not a whole number of pico-USD');
  }
}

/** Returns a number whose multiples stay whole when all of the factors multiply them. */
export function denominatorOf(factors: readonly Rational[]): bigint {
  return productOf(factors, 'denominator');
}

function productOf(factors: readonly Rational[], part: 'numerator' | 'denominator'): bigint {
  return factors.reduce((product, factor) => product * factor[part], 1n);
}

function isTierReached(tier: PriceTier, promptTokens: number): boolean {
  return tier.applies === 'over' ? promptTokens > tier.thresholdTokens : promptTokens >= tier.thresholdTokens;
}

function isPeakAt(peak: PricePeak, atMs: number): boolean {
  const localMinutes = Math.floor(atMs / MS_PER_MINUTE) + peak.utcOffsetMinutes;
  const day = Math.floor(localMinutes / MINUTES_PER_DAY);
  const minute = localMinutes - day * MINUTES_PER_DAY;
  const weekday = (((day + WEEKDAY_OF_EPOCH) % 7) + 7) % 7;
  return (
    peak.weekdays.includes(weekday) &&
    peak.windows.some(({ fromMinute, toMinute }) => fromMinute <= minute && minute < toMinute)
  );
}

function multiplyRates(rates: TokenRates, factors: readonly Rational[]): TokenRates {
  // A shortcut: every text request is priced several times, and most prices have no factor.
  if (factors.length === 0) return rates;
  const numerator = productOf(factors, 'numerator');
  const denominator = productOf(factors, 'denominator');
  return mapRates(rates, (rate, name) => (name === UNMULTIPLIED ? rate : (rate * numerator) / denominator));
}

type RatesAs<Value> = { readonly [Name in keyof TokenRates]: Value };

/** Converts each rate. */
export function mapRates<From, To>(
  rates: RatesAs<From>,
  change: (rate: From, name: keyof TokenRates) => To,
): RatesAs<To> {
  return {
    input: change(rates.input, 'input'),
    cachedInput: change(rates.cachedInput, 'cachedInput'),
    cacheWrite: change(rates.cacheWrite, 'cacheWrite'),
    cacheWrite1h: change(rates.cacheWrite1h, 'cacheWrite1h'),
    output: change(rates.output, 'output'),
    audioInput: change(rates.audioInput, 'audioInput'),
    cachedAudioInput: change(rates.cachedAudioInput, 'cachedAudioInput'),
    audioOutput: change(rates.audioOutput, 'audioOutput'),
    character: change(rates.character, 'character'),
    audioSecond: change(rates.audioSecond, 'audioSecond'),
    webSearch: change(rates.webSearch, 'webSearch'),
    searchUnit: change(rates.searchUnit, 'searchUnit'),
  };
}
