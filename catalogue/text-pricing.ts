/** Turns a text model's prices in the catalogue file into the pricing that `domain/pricing.ts` computes with. */
import type { PicoUsd } from '../domain/money.ts';
import { type TextPricing, assertExactPricing } from '../domain/pricing.ts';
import type { Rational } from '../domain/rational.ts';

/** Each at the index that is its number. */
export const WEEKDAYS = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'] as const;

export interface PricingEntry {
  /** Pico-USD per token; absent on a free model. */
  readonly prices?: {
    readonly input: PicoUsd;
    readonly output: PicoUsd;
    readonly cached_input: PicoUsd;
    readonly cache_write: PicoUsd;
  };
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

/** @throws RangeError when a price times its factors would not be exact */
export function toTextPricing(entry: PricingEntry): TextPricing {
  const pricing = {
    rates: {
      input: entry.prices?.input ?? 0n,
      cachedInput: entry.prices?.cached_input ?? 0n,
      cacheWrite: entry.prices?.cache_write ?? 0n,
      output: entry.prices?.output ?? 0n,
    },
    tiers: entry.tiers.map((tier) => ({
      thresholdTokens: tier.threshold_tokens,
      applies: tier.applies,
      factor: tier.factor,
    })),
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
