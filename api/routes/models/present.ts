/** Models in the list shape of widely used SDKs, with kind, limits and prices added. Prices are numbers in USD. */
import { WEEKDAYS } from '../../../catalogue/text-pricing.ts';
import type { Catalogue, ImageModel, MediaModel, TextModel, VideoModel } from '../../../catalogue/types.ts';
import { type PicoUsd, toUsdNumber } from '../../../domain/money.ts';
import type { PricePeak, PriceTier, TokenRates } from '../../../domain/pricing.ts';
import type { UnavailableReason } from '../../services/unavailable-model.ts';

const TOKENS_PER_PRICE = 1_000_000n;

/** Presents a model, with the reason if it cannot be called now. SDKs expect a creation date, which nobody publishes, so the catalogue's edition provides it. */
export function presentModel(
  model: MediaModel | TextModel,
  { version }: Pick<Catalogue, 'version'>,
  reason: UnavailableReason | null = null,
) {
  const common = {
    id: model.id,
    object: 'model',
    created: secondsOf(version),
    owned_by: 'genway',
    ...(reason !== null && { unavailable_reason: reason }),
  } as const;
  if (!('kind' in model)) return { ...common, ...presentTextModel(model) };
  return { ...common, ...(model.kind === 'video' ? presentVideoModel(model) : presentImageModel(model)) };
}

function presentVideoModel(model: VideoModel) {
  return {
    kind: 'video',
    endpoint: '/v1/videos/tasks',
    capability_version: model.capabilityVersion,
    limits: {
      prompt_characters: model.promptCharacters,
      duration_seconds: presentDurations(model.durationSeconds),
      images: { min: model.images.required ? 1 : 0, max: model.images.max },
      reference_videos: { min: 0, max: model.maxReferenceVideos ?? 0 },
      reference_audios: { min: 0, max: model.maxReferenceAudios ?? 0 },
      aspect_ratios: model.aspectRatios,
      resolutions: [...model.pricing.byResolution.keys()],
    },
    prices: { unit: model.pricing.per, by_resolution: presentPrices(model.pricing.byResolution) },
  } as const;
}

/** Includes the list of durations if not every one within the bounds is available. */
function presentDurations({ values, ...bounds }: VideoModel['durationSeconds']) {
  return { ...bounds, ...(values !== null && { values }) };
}

function presentImageModel(model: ImageModel) {
  return {
    kind: 'image',
    endpoint: '/v1/images/tasks',
    capability_version: model.capabilityVersion,
    limits: {
      images: { min: model.images.required ? 1 : 0, max: model.images.max },
      aspect_ratios: model.aspectRatios,
      resolutions: Object.keys(model.pricePerTier),
      backgrounds: model.backgrounds,
    },
    prices: { unit: 'image', by_resolution: presentPrices(Object.entries(model.pricePerTier)) },
  } as const;
}

function presentTextModel(model: TextModel) {
  const { rates, tiers, peaks } = model.pricing;
  return {
    kind: 'text',
    family: model.family,
    formats: model.formats,
    reasoning: model.reasoning,
    free: model.free,
    legacy: model.legacy,
    limits: { context_tokens: model.contextTokens, max_output_tokens: model.maxOutputTokens },
    prices: {
      unit: '1M tokens',
      ...presentRates(rates),
      tiers: tiers.map(presentTier),
      peaks: peaks.map(presentPeak),
    },
  } as const;
}

function presentPrices(prices: Iterable<readonly [string, PicoUsd]>): Record<string, number> {
  return Object.fromEntries(Array.from(prices, ([name, price]) => [name, toUsdNumber(price)]));
}

function presentRates({ input, output, cachedInput, cacheWrite }: TokenRates) {
  return {
    input: pricePerMillion(input),
    output: pricePerMillion(output),
    cached_input: pricePerMillion(cachedInput),
    cache_write: pricePerMillion(cacheWrite),
  };
}

function pricePerMillion(rate: PicoUsd): number {
  return toUsdNumber(rate * TOKENS_PER_PRICE);
}

function presentTier({ thresholdTokens, applies, factor }: PriceTier) {
  return { threshold_tokens: thresholdTokens, applies, factor: Number(factor.decimal) };
}

function presentPeak({ utcOffsetMinutes, weekdays, windows, factor }: PricePeak) {
  return {
    utc_offset_minutes: utcOffsetMinutes,
    days: weekdays.map((day) => WEEKDAYS[day]),
    windows: windows.map(({ fromMinute, toMinute }) => ({ from: clockTime(fromMinute), to: clockTime(toMinute) })),
    factor: Number(factor.decimal),
  };
}

function clockTime(minute: number): string {
  return [Math.floor(minute / 60), minute % 60].map((part) => String(part).padStart(2, '0')).join(':');
}

/** Unix seconds of an edition that is named after its date, 0 for any other. */
function secondsOf(version: string): number {
  const milliseconds = /^\d{4}-\d{2}-\d{2}$/.test(version) ? Date.parse(version) : Number.NaN;
  return Number.isNaN(milliseconds) ? 0 : milliseconds / 1000;
}
