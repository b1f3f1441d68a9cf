/** Finds prices that are lower than the operator's cost at the upstream of a route. */
import type { RouteCost } from './media-route.ts';
import type { JsonObject } from './json.ts';
import type { PicoUsd } from './money.ts';
import {
  type MediaPricing,
  ownTextPrice,
  priceMedia,
  priceText,
  TEXT_PRICES,
  TEXT_PRICE_NAMES,
  type TextPricing,
} from './pricing.ts';
import { renderCost } from './render-cost.ts';

export interface PriceBelowCost {
  /** For media the resolution, for text the name of the price. */
  readonly what: string;
  /** The duration of the video; null for images and text. */
  readonly seconds: number | null;
  /** The price of a video or image, or of text in the units of its name. */
  readonly price: PicoUsd;
  readonly cost: PicoUsd;
}

const MS_PER_MINUTE = 60_000;
const MINUTES_PER_DAY = 24 * 60;
/** A Sunday. */
const WEEK_STARTS_MS = Date.parse('2026-01-04T00:00:00Z');

/** Returns each price of text that is below cost for some length of the prompt at some time of the week. */
export function textBelowCost(pricing: TextPricing, cost: TextPricing): readonly PriceBelowCost[] {
  const both = [pricing, cost];
  const lengths = [
    0,
    ...both.flatMap(({ tiers }) => tiers.flatMap((tier) => [tier.thresholdTokens, tier.thresholdTokens + 1])),
  ];
  const times = [...new Set(both.flatMap(({ peaks }) => peaks.flatMap(timesOf)))];
  const found = new Map<string, PriceBelowCost>();
  for (const inputTotal of lengths) {
    for (const atMs of times.length === 0 ? [WEEK_STARTS_MS] : times) {
      const usage = { inputTotal, cacheRead: 0, cacheWrite: 0, cacheWrite1h: 0, outputTotal: 0 };
      const [price, paid] = both.map((one) => priceText(one, usage, atMs).ratesApplied);
      for (const what of TEXT_PRICE_NAMES) {
        const { rate, units } = TEXT_PRICES[what];
        if (price === undefined || paid === undefined || price[rate] >= paid[rate] || found.has(what)) continue;
        // A finding about the rate that both prices follow says the same.
        if (ownTextPrice(what, price) === undefined && ownTextPrice(what, paid) === undefined) continue;
        found.set(what, { what, seconds: null, price: price[rate] * units, cost: paid[rate] * units });
      }
    }
  }
  return [...found.values()];
}

/** The first moment of each window of a peak, and the moment just after it. */
function timesOf({ utcOffsetMinutes, weekdays, windows }: TextPricing['peaks'][number]): readonly number[] {
  return weekdays.flatMap((weekday) =>
    windows
      .flatMap(({ fromMinute, toMinute }) => [fromMinute, toMinute])
      .map((minute) => WEEK_STARTS_MS + (weekday * MINUTES_PER_DAY + minute - utcOffsetMinutes) * MS_PER_MINUTE),
  );
}

interface SoldMedia {
  readonly pricing: MediaPricing;
  /** The durations to compare: the shortest and the longest. */
  readonly durations: readonly number[];
  readonly isVideo: boolean;
  /** The parameters of a request that sets none. */
  readonly defaults: JsonObject;
}

/** Returns each resolution whose price is below cost for some values of the parameters that change price or cost. */
export function mediaBelowCost(
  { pricing, durations, isVideo, defaults }: SoldMedia,
  cost: RouteCost,
): readonly PriceBelowCost[] {
  const changes = [...pricing.modifiers, ...(cost.modifiers ?? [])].map(({ when }) => when);
  const requests: readonly JsonObject[] = [{}, ...changes, Object.assign({}, ...changes)];
  return Object.keys(pricing.byResolution).flatMap((resolution) => {
    const compared = requests.flatMap((request) =>
      durations.map((durationSeconds) => {
        const order = { resolution, durationSeconds, parameters: { ...defaults, ...request } };
        const paid = renderCost(order, { reported: null, written: cost });
        const seconds = isVideo ? durationSeconds : null;
        return { what: resolution, seconds, price: priceMedia(pricing, order), cost: paid ?? 0n };
      }),
    );
    return compared.filter((one) => one.price < one.cost).slice(0, 1);
  });
}
