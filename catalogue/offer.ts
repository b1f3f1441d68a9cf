/** Describes the models of a catalogue as text with decimals, and the changes between two catalogues. */
import type { ModelParameters, ParameterSchema } from '../domain/model-parameters.ts';
import type { RouteCost } from '../domain/media-route.ts';
import { formatUsd } from '../domain/money.ts';
import {
  listTextPrices,
  type MediaPricing,
  type PriceModifier,
  type PricePeak,
  type TextCost,
  type TextPricing,
} from '../domain/pricing.ts';
import { WEEKDAYS } from './text-pricing.ts';
import {
  allModels,
  type Catalogue,
  type ImageModel,
  type MediaModel,
  speaks,
  type TextModel,
  type VideoModel,
} from './types.ts';

/** Values by their names in the catalogue file. */
export type Terms = Readonly<Record<string, string>>;

/** Costs by upstream and the upstream's name for the model. */
export type RouteCosts = Readonly<Record<string, Terms>>;

export interface OfferedModel {
  readonly id: string;
  readonly kind: 'video' | 'image' | 'text';
  /** The prices and their modifiers. */
  readonly prices: Terms;
  /** The operator's costs by route, for routes with a cost in the catalogue. */
  readonly costs: RouteCosts;
  /** Limits, conditions and routes. */
  readonly terms: Terms;
}

export interface Offer {
  /** The version of the catalogue. */
  readonly version: string;
  readonly models: readonly OfferedModel[];
}

export function offerOf(catalogue: Catalogue): Offer {
  return {
    version: catalogue.version,
    models: allModels(catalogue).map(offerModel),
  };
}

export function offerModel(model: MediaModel | TextModel): OfferedModel {
  if (!('kind' in model)) return offerText(model);
  return model.kind === 'video' ? offerVideo(model) : offerImage(model);
}

/** The prices of a media model, to be recorded. */
export interface MediaRateCard {
  readonly version: string;
  readonly model: string;
  readonly kind: MediaModel['kind'];
  readonly pricing: MediaPricing;
}

export function mediaRateCardsOf({ version, videoModels, imageModels }: Catalogue): readonly MediaRateCard[] {
  return [...videoModels.values(), ...imageModels.values()].map((model) => {
    return { version, model: model.id, kind: model.kind, pricing: model.pricing };
  });
}

/** Lists the costs of text, for routes with a cost in the catalogue. */
export function textCostsOf({ version, textModels }: Pick<Catalogue, 'version' | 'textModels'>): readonly TextCost[] {
  return [...textModels.values()].flatMap((model) =>
    costsOf(model).map((cost) => ({ version, model: model.id, ...cost })),
  );
}

function costsOf({ routes }: TextModel): readonly Pick<TextCost, 'upstream' | 'upstreamModel' | 'pricing'>[] {
  return routes.flatMap(({ provider: upstream, model: upstreamModel, cost: pricing }) =>
    pricing ? [{ upstream, upstreamModel, pricing }] : [],
  );
}

export function mediaPrices({ per, byResolution, modifiers }: MediaPricing): Terms {
  return {
    ...Object.fromEntries(
      Object.entries(byResolution).map(([resolution, price]) => [`usd_per_${per} ${resolution}`, formatUsd(price)]),
    ),
    ...writeModifiers(`usd_per_${per}`, modifiers),
  };
}

function writeModifiers(price: string, modifiers: readonly PriceModifier[]): Terms {
  return Object.fromEntries(
    modifiers.map(({ when, addition, factor }) => {
      const conditions = Object.entries(when).map(([name, value]) => `${name} = ${String(value)}`);
      const changes = [
        ...(BigInt(addition) === 0n ? [] : [`+ ${formatUsd(BigInt(addition))}`]),
        ...(Number(factor) === 1 ? [] : [`× ${factor}`]),
      ];
      return [`${price} with ${conditions.join(', ')}`, changes.join(', ') || '+ 0'];
    }),
  );
}

/** Writes prices in USD for their units, and the factors with their conditions. */
export function textPrices({ rates, tiers, peaks }: TextPricing): Terms {
  return {
    ...Object.fromEntries(listTextPrices(rates).map(([name, price]) => [name, formatUsd(price)])),
    ...Object.fromEntries(
      tiers.map(({ thresholdTokens, applies, factor }) => {
        return [`factor ${applies.replaceAll('_', ' ')} ${thresholdTokens} tokens`, factor.decimal];
      }),
    ),
    ...Object.fromEntries(peaks.map((peak) => [`factor ${describePeak(peak)}`, peak.factor.decimal])),
  };
}

function describePeak({ utcOffsetMinutes, weekdays, windows }: PricePeak): string {
  const days = weekdays.map((day) => WEEKDAYS[day]?.slice(0, 3));
  const times = windows.map(({ fromMinute, toMinute }) => `${clock(fromMinute)}-${clock(toMinute)}`);
  const sign = utcOffsetMinutes < 0 ? '-' : '+';
  return `${days.join(' ')} ${times.join(' ')} ${sign}${clock(Math.abs(utcOffsetMinutes))}`;
}

function clock(minutes: number): string {
  return [Math.floor(minutes / 60), minutes % 60].map((part) => String(part).padStart(2, '0')).join(':');
}

function offerVideo(model: VideoModel): OfferedModel {
  const { min, max, values, default: usual } = model.durationSeconds;
  return {
    id: model.id,
    kind: 'video',
    prices: mediaPrices(model.pricing),
    costs: mediaCosts(model),
    terms: {
      ...mediaTerms(model),
      duration_seconds: `${values?.join(', ') ?? `${min} to ${max}`}, default ${usual}`,
      prompt_characters: `${model.promptCharacters.min} to ${model.promptCharacters.max}`,
      max_reference_videos: numberOrNone(model.maxReferenceVideos),
      max_reference_audios: numberOrNone(model.maxReferenceAudios),
    },
  };
}

function offerImage(model: ImageModel): OfferedModel {
  return {
    id: model.id,
    kind: 'image',
    prices: mediaPrices(model.pricing),
    costs: mediaCosts(model),
    terms: {
      ...mediaTerms(model),
      ...Object.fromEntries(
        [...model.choices.values()].map(({ list, values, default: usual }) => [
          list,
          `${values.join(', ')}, default ${usual}`,
        ]),
      ),
    },
  };
}

function mediaCosts({ routes }: MediaModel): RouteCosts {
  return Object.fromEntries(
    routes.flatMap(({ provider, model, cost }) => (cost ? [[`${provider} ${model}`, writeCost(cost)]] : [])),
  );
}

function writeCost({ per, prices, modifiers = [] }: RouteCost): Terms {
  return {
    ...Object.fromEntries(
      Object.entries(prices).map(([what, price]) => [
        what === '*' ? `usd_per_${per}` : `usd_per_${per} ${what}`,
        formatUsd(BigInt(price)),
      ]),
    ),
    ...writeModifiers(`usd_per_${per}`, modifiers),
  };
}

/** Writes the costs of text by route, in the form of prices. */
export function textCosts(costs: readonly Pick<TextCost, 'upstream' | 'upstreamModel' | 'pricing'>[]): RouteCosts {
  return Object.fromEntries(
    costs.map(({ upstream, upstreamModel, pricing }) => [`${upstream} ${upstreamModel}`, textPrices(pricing)]),
  );
}

function mediaTerms(model: MediaModel): Terms {
  return {
    images: `${model.images.required ? '1' : '0'} to ${model.images.max}`,
    aspect_ratios: `${model.aspectRatios.join(', ')}, default ${model.defaultAspectRatio}`,
    default_resolution: model.defaultResolution,
    result_check: model.resultCheck,
    ...parameterTerms(model.parameters),
    routes: describeRoutes(model.routes),
  };
}

function parameterTerms({ properties, required }: ModelParameters): Terms {
  return Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [
      `field ${name}`,
      `${describeParameter(schema)}${required.includes(name) ? ', required' : ''}`,
    ]),
  );
}

/** Describes the values of a parameter, such as "one of a, b, default a". */
function describeParameter(schema: ParameterSchema): string {
  const usual = schema.default === undefined ? '' : `, default ${String(schema.default)}`;
  return `${describeValues(schema)}${usual}`;
}

function describeValues(schema: ParameterSchema): string {
  switch (schema.type) {
    case 'string':
      if (schema.enum) return `one of ${schema.enum.join(', ')}`;
      if (schema.format === 'uri') return 'a link';
      return `${schema.minLength} to ${schema.maxLength} characters`;
    case 'integer':
    case 'number': {
      if (schema.enum) return `one of ${schema.enum.join(', ')}`;
      const kind = schema.type === 'integer' ? 'a whole number' : 'a number';
      const from = schema.minimum === undefined ? '' : ` from ${schema.minimum}`;
      return `${kind}${from}${schema.maximum === undefined ? '' : ` to ${schema.maximum}`}`;
    }
    case 'boolean':
      return 'true or false';
    case 'array':
      return `${schema.minItems} to ${schema.maxItems} of (${describeParameter(schema.items)})`;
    default:
      return Object.entries(parameterTerms(schema))
        .map(([name, term]) => `${name.replace('field ', '')}: ${term}`)
        .join('; ');
  }
}

function offerText(model: TextModel): OfferedModel {
  return {
    id: model.id,
    kind: 'text',
    prices: textPrices(model.pricing),
    costs: textCosts(costsOf(model)),
    terms: {
      free: String(model.free),
      context_tokens: numberOrNone(model.contextTokens),
      max_output_tokens: numberOrNone(model.maxOutputTokens),
      ...(model.webSearch && { max_web_searches: String(model.webSearch.maxCalls) }),
      formats: model.formats.join(', '),
      ...(model.routes.some(speaks) && { output_modalities: 'text, audio' }),
      funded_only: String(model.fundedOnly),
      requires_top_up: String(model.requiresTopUp),
      routes: describeRoutes(model.routes),
    },
  };
}

function describeRoutes(
  routes: readonly {
    readonly provider: string;
    readonly model: string;
    readonly order: number;
    readonly weight: number;
  }[],
): string {
  return routes
    .map(({ provider, model, order, weight }) => `${provider} ${model} (order ${order}, weight ${weight})`)
    .join(', ');
}

function numberOrNone(value: number | null): string {
  return value === null ? 'none' : String(value);
}

/** A difference between two catalogues. */
export interface OfferChange {
  readonly model: string;
  /** The name of the changed value; `model` for a whole model that is added or withdrawn. */
  readonly what: string;
  /** `before` is null for an added value, and `after` for a removed value. */
  readonly before: string | null;
  readonly after: string | null;
  /** Whether the value is a price or a cost; null for other values. */
  readonly amount: 'price' | 'cost' | null;
}

/** Lists the changes by model: prices, then costs, then the rest. */
export function compareOffers(before: Offer, after: Offer): readonly OfferChange[] {
  const old = new Map(before.models.map((model) => [model.id, model]));
  const kept = new Set(after.models.map(({ id }) => id));
  const withdrawn = before.models.filter(({ id }) => !kept.has(id));
  return [
    ...after.models.flatMap((model) => {
      const one = old.get(model.id);
      if (!one) return [wholeModel(model, 'added')];
      return [
        ...compareTerms(model.id, one.prices, model.prices, 'price'),
        ...compareTerms(model.id, flattenCosts(one.costs), flattenCosts(model.costs), 'cost'),
        ...compareTerms(model.id, one.terms, model.terms, null),
      ];
    }),
    ...withdrawn.map((model) => wholeModel(model, 'withdrawn')),
  ];
}

function wholeModel({ id, kind, prices }: OfferedModel, change: 'added' | 'withdrawn'): OfferChange {
  const terms = `${kind}: ${Object.entries(prices)
    .map(([name, price]) => `${name} ${price}`)
    .join(', ')}`;
  const isAdded = change === 'added';
  return { model: id, what: 'model', before: isAdded ? null : terms, after: isAdded ? terms : null, amount: null };
}

function flattenCosts(costs: RouteCosts): Terms {
  return Object.fromEntries(
    Object.entries(costs).flatMap(([route, terms]) =>
      Object.entries(terms).map(([name, value]) => [`cost at ${route}: ${name}`, value]),
    ),
  );
}

function compareTerms(
  model: string,
  before: Terms,
  after: Terms,
  amount: OfferChange['amount'],
): readonly OfferChange[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return names
    .filter((what) => before[what] !== after[what])
    .map((what) => ({ model, what, before: before[what] ?? null, after: after[what] ?? null, amount }));
}

/** The recorded amounts of a version: the charged prices, and the costs of text that margins are computed from. */
export interface RecordedAmounts {
  /** By model. */
  readonly prices: Readonly<Record<string, Terms>>;
  /** By model; only for text. */
  readonly costs: Readonly<Record<string, RouteCosts>>;
}

/**
 * Finds forbidden changes: recorded prices and costs of a version must not change, because charges and margins refer to
 * the version. A route may gain a cost that it did not have, or lose its cost.
 *
 * @param recorded the recorded amounts of the version of `offer`
 */
export function amountsChangedUnder(recorded: RecordedAmounts, offer: Offer): readonly OfferChange[] {
  return offer.models.flatMap(({ id, prices, costs }) => {
    const before = recorded.prices[id];
    const kept = recorded.costs[id] ?? {};
    return [
      ...(before === undefined ? [] : compareTerms(id, before, prices, 'price')),
      ...compareTerms(id, flattenCosts(inBoth(kept, costs)), flattenCosts(inBoth(costs, kept)), 'cost'),
    ];
  });
}

function inBoth(costs: RouteCosts, others: RouteCosts): RouteCosts {
  return Object.fromEntries(Object.entries(costs).filter(([route]) => others[route] !== undefined));
}
