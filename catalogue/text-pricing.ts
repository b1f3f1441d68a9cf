/** Converts a text model's prices in the catalogue file to the pricing of `domain/pricing.ts`. */
import { camelCased } from '../domain/field-names.ts';
import type { PicoUsd } from '../domain/money.ts';
import { type TextPricing, assertExactPricing, completeRates } from '../domain/pricing.ts';
import type { Rational } from '../domain/rational.ts';

/** The index of a weekday is its number. */
export const WEEKDAYS = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'] as const;

/** Pico-USD per token, character, second or search, by the names of `TEXT_PRICES` in `domain/pricing.ts`. */
export interface TokenPricesEntry {
  readonly input: PicoUsd;
  readonly output: PicoUsd;
  readonly cached_input: PicoUsd;
  readonly cache_write: PicoUsd;
  /** {@link INPUTS_PER_1H_WRITE} times the input when absent. */
  readonly cache_write_1h?: PicoUsd;
  /** The prices of other tokens when absent. */
  readonly audio_input?: PicoUsd;
  readonly cached_audio_input?: PicoUsd;
  readonly audio_output?: PicoUsd;
  /** 0 when absent. */
  readonly character?: PicoUsd;
  readonly audio_second?: PicoUsd;
  /** Only in costs: models have the price of a search among their `tools`. */
  readonly web_search?: PicoUsd;
  readonly search_unit?: PicoUsd;
}

/** The price of a model that only reads, such as an embedding model. */
export type InputPriceEntry = Pick<TokenPricesEntry, 'input'>;

/** The tools that the model's side runs, with their prices. */
export interface ToolsEntry {
  readonly web_search: { readonly usd_per_call: PicoUsd; readonly max_calls: number };
}

export interface PricingEntry {
  /** Absent on a free model. */
  readonly prices?: TokenPricesEntry;
  readonly tools?: ToolsEntry;
  readonly tiers: readonly {
    readonly threshold_tokens: number;
    readonly applies: 'over' | 'at_or_over';
    readonly factor: Rational;
  }[];
  readonly peaks: readonly {
    /** Minutes. */
    readonly utc_offset: number;
    readonly days: readonly (typeof WEEKDAYS)[number][];
    /** Minutes since midnight. */
    readonly windows: readonly { readonly from: number; readonly to: number }[];
    readonly factor: Rational;
  }[];
}

/** The cost at an upstream, in the form of prices. */
export type CostEntry = TokenPricesEntry & Pick<PricingEntry, 'tiers' | 'peaks'>;

/** The price of a one-hour cache write, in input tokens: https://platform.claude.com/docs/en/about-claude/pricing */
const INPUTS_PER_1H_WRITE = 2n;

const FREE: TokenPricesEntry = { input: 0n, output: 0n, cached_input: 0n, cache_write: 0n };

/** @throws RangeError if a cost times its factors would not be exact */
export function toCostPricing({ tiers, peaks, ...prices }: CostEntry): TextPricing {
  return toTextPricing({ prices, tiers, peaks });
}

export function toEmbeddingsPricing({ input }: InputPriceEntry = FREE): TextPricing {
  return toTextPricing({ prices: inputPrices(input), tiers: [], peaks: [] });
}

/** Cached input costs as much as other input, whatever the upstream reports as cached. */
function inputPrices(input: PicoUsd): TokenPricesEntry {
  return { input, output: 0n, cached_input: input, cache_write: input, cache_write_1h: input };
}

/** The price of ranking: of tokens, searches or both. */
export type RerankPricesEntry = Partial<Pick<TokenPricesEntry, 'input' | 'search_unit'>>;

export function toRerankPricing({ input = 0n, search_unit }: RerankPricesEntry = {}): TextPricing {
  const prices = { ...inputPrices(input), ...(search_unit !== undefined && { search_unit }) };
  return toTextPricing({ prices, tiers: [], peaks: [] });
}

/** The price of voice: any of its parts, but at least one. */
export type VoicePricesEntry = Partial<
  Omit<TokenPricesEntry, 'cached_input' | 'cache_write' | 'cache_write_1h' | 'web_search'>
>;

/**
 * Cached input costs as much as other input. Tokens that the upstream does not report as audio cost as much as audio,
 * unless they have a price of their own.
 */
export function toVoicePricing({ input: text, output: words, ...voice }: VoicePricesEntry = {}): TextPricing {
  const [input, output] = [text ?? voice.audio_input ?? 0n, words ?? voice.audio_output ?? 0n];
  const cached = { cached_input: input, cache_write: input, cache_write_1h: input };
  return toTextPricing({
    prices: { input, output, ...cached, ...voice, cached_audio_input: voice.audio_input ?? input },
    tiers: [],
    peaks: [],
  });
}

/** Whether the price depends on tokens, not only on characters or seconds. */
export function countsTokens({ input, output, audio_input, audio_output }: VoicePricesEntry): boolean {
  return [input, output, audio_input, audio_output].some((price) => price !== undefined && price > 0n);
}

/** @throws RangeError if a price times its factors would not be exact */
export function toTextPricing(entry: PricingEntry): TextPricing {
  const prices = entry.prices ?? FREE;
  const { input, output, cached_input: cachedInput } = prices;
  const pricing = {
    rates: completeRates({
      input,
      cachedInput,
      cacheWrite: prices.cache_write,
      cacheWrite1h: prices.cache_write_1h ?? input * INPUTS_PER_1H_WRITE,
      output,
      audioInput: prices.audio_input,
      cachedAudioInput: prices.cached_audio_input,
      audioOutput: prices.audio_output,
      character: prices.character,
      audioSecond: prices.audio_second,
      webSearch: entry.tools?.web_search.usd_per_call ?? prices.web_search,
      searchUnit: prices.search_unit,
    }),
    tiers: entry.tiers.map(camelCased),
    peaks: entry.peaks.map((peak) => ({
      utcOffsetMinutes: peak.utc_offset,
      weekdays: peak.days.map((day) => WEEKDAYS.indexOf(day)),
      windows: peak.windows.map(({ from, to }) => ({ fromMinute: from, toMinute: to })),
      factor: peak.factor,
    })),
  };
  assertExactPricing(pricing);
  return pricing;
}
