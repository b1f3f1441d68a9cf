/**
 * The prices of one customer: the catalogue's prices, changed by a version of a price list.
 *
 * Each price is rounded up once, to whole pico-USD per token, second, video or image. Where tiers, peaks or modifiers
 * multiply the price, it is rounded up to an amount that they multiply without a fraction. Customers pay exactly the
 * prices that they see.
 */
import { type PicoUsd, parseUsd } from './money.ts';
import {
  denominatorOf,
  mapRates,
  type MediaPricing,
  parseTextPrice,
  TEXT_PRICES,
  TEXT_PRICE_NAMES,
  type TextPricing,
  type TokenRates,
} from './pricing.ts';
import { parseRational, type Rational } from './rational.ts';

/** The prices of one model, or of all text models of a family. */
export interface PriceRule {
  readonly model?: string | undefined;
  readonly family?: string | undefined;
  /** Multiplies the catalogue's prices that `prices` does not name. The list's factor applies when absent. */
  readonly factor?: string | undefined;
  /** In USD: of text by {@link TEXT_PRICES}; per second, video or image by resolution. */
  readonly prices?: Readonly<Record<string, string>> | undefined;
}

export interface PriceRules {
  /** A decimal that multiplies the catalogue's prices without a rule. */
  readonly factor: string;
  /** The part of these prices that requests of batches cost. The catalogue's factor applies when absent. */
  readonly batchFactor?: string | null | undefined;
  /** The rule of a model takes precedence over the rule of its family. */
  readonly rules: readonly PriceRule[];
}

/** A current or future version of a list. */
export interface PlannedVersion {
  /** Such as `partners@3`. */
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly fromMs: number;
}

const MAX_FACTOR = 1_000;

/**
 * Reads the factor of a price list: above 0 and below 1,000, with at most six digits after the point.
 *
 * @throws RangeError
 */
export function parseListFactor(decimal: string): Rational {
  const factor = parseRational(decimal);
  if (Number(decimal) >= MAX_FACTOR) throw new RangeError(`a factor must be below ${MAX_FACTOR}: ${decimal}`);
  return factor;
}

/**
 * Returns the version that applies at a moment: the first in `planned` whose start has passed.
 *
 * @param planned the latest version first, even if an older version starts later
 * @returns null where no version applies, so the catalogue's prices do
 */
export function versionAt(planned: readonly PlannedVersion[], atMs: number): string | null {
  return planned.find(({ fromMs }) => fromMs <= atMs)?.id ?? null;
}

/** One version of a price list. */
export class PriceList {
  /** Such as `partners@3`. */
  readonly id: string;
  readonly #factor: Rational;
  readonly #batchFactor: Rational | null;
  readonly #byModel: ReadonlyMap<string, PriceRule>;
  readonly #byFamily: ReadonlyMap<string, PriceRule>;
  /** Caches the computed prices by model. */
  readonly #text = new WeakMap<object, TextPricing>();
  readonly #media = new WeakMap<object, MediaPricing>();

  constructor({ id, factor, batchFactor = null, rules }: PriceRules & { readonly id: string }) {
    const ruleBy = (name: 'model' | 'family') =>
      new Map(rules.flatMap((rule) => (rule[name] === undefined ? [] : [[rule[name], rule] as const])));
    this.id = id;
    this.#factor = parseListFactor(factor);
    this.#batchFactor = batchFactor === null ? null : parseListFactor(batchFactor);
    this.#byModel = ruleBy('model');
    this.#byFamily = ruleBy('family');
  }

  /** The customer's prices of a text model. A free model stays free. */
  textPricing(model: { readonly id: string; readonly family: string; readonly pricing: TextPricing }): TextPricing {
    const known = this.#text.get(model);
    if (known) return known;
    const { tiers, peaks, rates } = model.pricing;
    const batchFactor = this.#batchFactor ?? model.pricing.batchFactor;
    const rule = this.#byModel.get(model.id) ?? this.#byFamily.get(model.family);
    const step = denominatorOf([...tiers, ...peaks].map(({ factor }) => factor));
    const isFree = Object.values<PicoUsd>({ ...rates }).every((rate) => rate === 0n);
    const rateOf = (rate: PicoUsd, rateName: keyof TokenRates): PicoUsd => {
      const name = TEXT_PRICE_NAMES.find((one) => TEXT_PRICES[one].rate === rateName);
      const written = name && rule?.prices?.[name];
      if (isFree || name === undefined || written === undefined) return this.#scale(rate, rule, step);
      return roundUp(parseTextPrice(name, written), 1n, step);
    };
    const pricing = {
      tiers,
      peaks,
      rates: mapRates(rates, rateOf),
      ...(batchFactor && { batchFactor }),
    };
    this.#text.set(model, pricing);
    return pricing;
  }

  /** The customer's prices of a media model. */
  mediaPricing(model: { readonly id: string; readonly pricing: MediaPricing }): MediaPricing {
    const known = this.#media.get(model);
    if (known) return known;
    const { per, byResolution, modifiers } = model.pricing;
    const rule = this.#byModel.get(model.id);
    const step = denominatorOf(modifiers.map(({ factor }) => parseRational(factor)));
    const pricing = {
      per,
      byResolution: Object.fromEntries(
        Object.entries(byResolution).map(([name, price]) => {
          const written = rule?.prices?.[name];
          return [name, written === undefined ? this.#scale(price, rule, step) : roundUp(parseUsd(written), 1n, step)];
        }),
      ),
      modifiers: modifiers.map((modifier) => ({
        ...modifier,
        addition: this.#scale(BigInt(modifier.addition), rule, step).toString(),
      })),
    };
    this.#media.set(model, pricing);
    return pricing;
  }

  #scale(price: PicoUsd, rule: PriceRule | undefined, step: bigint): PicoUsd {
    const { numerator, denominator } = rule?.factor === undefined ? this.#factor : parseListFactor(rule.factor);
    return roundUp(price * numerator, denominator, step);
  }
}

/** Rounds a fraction up to a multiple of `step`. The numerator must not be negative. */
function roundUp(numerator: bigint, denominator: bigint, step: bigint): bigint {
  const unit = denominator * step;
  return ((numerator + unit - 1n) / unit) * step;
}
