/** Models in the list shape of widely used SDKs, with kind, limits and prices added. Prices are numbers in USD. */
import { WEEKDAYS } from '../../../catalogue/text-pricing.ts';
import {
  type Catalogue,
  type ImageModel,
  type MediaModel,
  OUTPUT_MODALITIES,
  outputModalitiesOf,
  type TextModel,
  type VideoModel,
} from '../../../catalogue/types.ts';
import { arrayOf, component, integer, oneOfTexts, text, usd } from '../../../domain/json-schema.ts';
import { toUsdNumber } from '../../../domain/money.ts';
import {
  type MediaPricing,
  ownTextPrice,
  type PriceModifier,
  type PricePeak,
  type PriceTier,
} from '../../../domain/pricing.ts';
import * as field from '../../../domain/resource/field.ts';
import { nested, resource } from '../../../domain/resource/resource.ts';
import { IMAGE_CHOICES } from '../../../domain/image-choices.ts';
import { REQUEST_FORMAT_NAMES } from '../../../domain/wire-format-name.ts';
import { UNAVAILABLE_REASONS, type UnavailableReason } from '../../../services/operations/unavailable-model.ts';

const TOKENS_PER_PRICE = 1_000_000n;

/** The fields of a model in an answer beyond its terms. */
interface Listing {
  readonly version: string;
  /** Why the model cannot be called now; null where it can. */
  readonly reason: UnavailableReason | null;
}

const HEAD = {
  id: field.text('id', 'The exact, case-sensitive value for `model` in requests'),
  object: field.constant('model'),
  created: field.unixSeconds(({ version }: Listing) => dateOf(version), 'The date of the catalogue’s version'),
  owned_by: field.text(() => 'genway'),
  unavailable_reason: field
    .oneOf(UNAVAILABLE_REASONS)
    .orAbsent(({ reason }: Listing) => reason ?? undefined, 'The reason why the key cannot call the model'),
};

const itemCount = field.object(
  nested<{ readonly min: number; readonly max: number }>({ min: field.integer('min'), max: field.integer('max') }),
);
const imageCount = itemCount(({ images }: MediaModel) => ({ min: images.required ? 1 : 0, max: images.max }));

const VIDEO_LIMITS = nested<VideoModel>({
  prompt_characters: itemCount('promptCharacters'),
  duration_seconds: field.object(
    nested<VideoModel['durationSeconds']>({
      min: field.integer('min'),
      max: field.integer('max'),
      default: field.integer('default'),
      values: field
        .json(arrayOf(integer(), 'The available durations, if not all from `min` to `max` are'))
        .orAbsent(({ values }) => values ?? undefined),
    }),
  )('durationSeconds'),
  images: imageCount,
  reference_videos: itemCount(({ maxReferenceVideos }) => ({ min: 0, max: maxReferenceVideos ?? 0 })),
  reference_audios: itemCount(({ maxReferenceAudios }) => ({ min: 0, max: maxReferenceAudios ?? 0 })),
  aspect_ratios: field.texts(text())('aspectRatios'),
  resolutions: field.texts(text())(({ pricing }) => Object.keys(pricing.byResolution)),
});

const MODIFIER = nested<PriceModifier>({
  when: field.json({ type: 'object', description: 'The values that request fields must have' })('when'),
  addition: field.usd(({ addition }) => BigInt(addition), 'The amount added to the price of a unit'),
  factor: field.number(({ factor }) => Number(factor), 'The factor that multiplies the sum'),
});

const pricesOf = (units: readonly MediaPricing['per'][]) =>
  nested<MediaPricing>({
    unit: field.oneOf(units)('per'),
    by_resolution: field.json({ type: 'object', additionalProperties: usd('Price') })(({ byResolution }) =>
      Object.fromEntries(Object.entries(byResolution).map(([name, price]) => [name, toUsdNumber(price)])),
    ),
    modifiers: field.list(MODIFIER)('modifiers'),
  });

const PARAMETERS = field.json({
  type: 'object',
  description: 'The JSON Schema of each input field specific to this model',
})((model: MediaModel) => model.parameters.properties);

const VIDEO_MODEL = resource<VideoModel & Listing>('VideoModel', {
  ...HEAD,
  kind: field.constant('video'),
  endpoint: field.constant('/v1/videos/tasks'),
  capability_version: field.integer.orNull('capabilityVersion'),
  limits: field.object(VIDEO_LIMITS)((model) => model),
  parameters: PARAMETERS,
  prices: field.object(pricesOf(['second', 'video']))('pricing'),
});

const IMAGE_LIMITS = nested<ImageModel>({
  images: imageCount,
  aspect_ratios: field.texts(text())('aspectRatios'),
  resolutions: field.texts(text())(({ pricing }) => Object.keys(pricing.byResolution)),
  ...Object.fromEntries(
    IMAGE_CHOICES.map(({ name, list }) => [
      list,
      field.texts(text())(({ choices }: ImageModel) => choices.get(name)?.values ?? []),
    ]),
  ),
});

const IMAGE_MODEL = resource<ImageModel & Listing>('ImageModel', {
  ...HEAD,
  kind: field.constant('image'),
  endpoint: field.constant('/v1/images/tasks'),
  capability_version: field.integer.orNull('capabilityVersion'),
  limits: field.object(IMAGE_LIMITS)((model) => model),
  parameters: PARAMETERS,
  prices: field.object(pricesOf(['image']))('pricing'),
});

const TIER = nested<PriceTier>({
  threshold_tokens: field.integer('thresholdTokens', 'The threshold in input tokens'),
  applies: field.oneOf(['over', 'at_or_over'])(
    'applies',
    '`over`: applies above the threshold; `at_or_over`: applies from the threshold',
  ),
  factor: field.number(({ factor }) => Number(factor.decimal), 'The factor for the price of the whole request'),
});

const WINDOW = nested<PricePeak['windows'][number]>({
  from: field.text(({ fromMinute }) => clockTime(fromMinute), 'HH:MM'),
  to: field.text(({ toMinute }) => clockTime(toMinute), 'HH:MM'),
});

const PEAK = nested<PricePeak>({
  utc_offset_minutes: field.integer('utcOffsetMinutes', 'The time zone of the windows, in minutes from UTC'),
  days: field.texts(text())(({ weekdays }) => weekdays.flatMap((day) => WEEKDAYS[day] ?? [])),
  windows: field.list(WINDOW)('windows'),
  factor: field.number(({ factor }) => Number(factor.decimal), 'The factor for the price'),
});

const TEXT_PRICES = nested<TextModel>({
  unit: field.constant('1M tokens'),
  input: field.usd(({ pricing }) => pricing.rates.input * TOKENS_PER_PRICE, 'The price of input tokens'),
  output: field.usd(({ pricing }) => pricing.rates.output * TOKENS_PER_PRICE, 'The price of output tokens'),
  cached_input: field.usd(
    ({ pricing }) => pricing.rates.cachedInput * TOKENS_PER_PRICE,
    'The price of input tokens read from the cache',
  ),
  cache_write: field.usd(
    ({ pricing }) => pricing.rates.cacheWrite * TOKENS_PER_PRICE,
    'The price of input tokens written to the cache',
  ),
  cache_write_1h: field.usd.orAbsent(
    ({ pricing, compatibility }) =>
      compatibility === 'full' ? pricing.rates.cacheWrite1h * TOKENS_PER_PRICE : undefined,
    'The price of input tokens cached for an hour. Absent if the model does not offer this',
  ),
  audio_input: field.usd.orAbsent(
    ({ pricing }) => ownTextPrice('audio_input', pricing.rates),
    'The price of input tokens that are audio. Absent if it is that of other input',
  ),
  cached_audio_input: field.usd.orAbsent(
    ({ pricing }) => ownTextPrice('cached_audio_input', pricing.rates),
    'The price of audio tokens read from the cache. Absent if it is that of other cached input',
  ),
  audio_output: field.usd.orAbsent(
    ({ pricing }) => ownTextPrice('audio_output', pricing.rates),
    'The price of output tokens that are audio. Absent if it is that of other output',
  ),
  character: field.usd.orAbsent(
    ({ pricing }) => ownTextPrice('character', pricing.rates),
    'The price of 1M characters to speak. Absent if they are free',
  ),
  audio_second: field.usd.orAbsent(
    ({ pricing }) => ownTextPrice('audio_second', pricing.rates),
    'The price of a second of spoken or transcribed audio. Absent if it is free',
  ),
  web_search: field.usd.orAbsent(
    ({ pricing, webSearch }) => (webSearch === undefined ? undefined : pricing.rates.webSearch),
    'The price of a search of the web. Absent if the model offers none',
  ),
  search_unit: field.usd.orAbsent(
    ({ pricing }) => ownTextPrice('search_unit', pricing.rates),
    'The price of a search that ranks up to 100 documents. Absent if it is free',
  ),
  tiers: field.list(TIER)(({ pricing }) => pricing.tiers),
  peaks: field.list(PEAK)(({ pricing }) => pricing.peaks),
});

const TEXT_LIMITS = nested<TextModel>({
  context_tokens: field.integer.orNull('contextTokens'),
  max_output_tokens: field.integer.orNull('maxOutputTokens'),
});

const TEXT_MODEL = resource<TextModel & Listing>('TextModel', {
  ...HEAD,
  kind: field.constant('text'),
  family: field.text('family'),
  formats: field.texts(oneOfTexts(REQUEST_FORMAT_NAMES))(
    'formats',
    'The formats that serve the model. `embeddings` or `rerank` for a model with this kind of request only',
  ),
  output_modalities: field
    .texts(oneOfTexts(OUTPUT_MODALITIES))
    .orAbsent(
      outputModalitiesOf,
      'What answers may have. Absent for models of embeddings, of voice and of realtime sessions',
    ),
  reasoning: field.boolean('reasoning', 'Whether the model may reason before the answer'),
  free: field.boolean('free', 'Whether tokens are free of charge'),
  legacy: field.boolean('legacy', 'Whether the id is an older one that still works'),
  limits: field.object(TEXT_LIMITS)((model) => model),
  prices: field.object(TEXT_PRICES)((model) => model),
});

const KINDS = { video: VIDEO_MODEL.schema, image: IMAGE_MODEL.schema, text: TEXT_MODEL.schema };

/** A model of any kind. */
export const MODEL_SCHEMA = component('Model', {
  oneOf: Object.values(KINDS),
  discriminator: {
    propertyName: 'kind',
    mapping: Object.fromEntries(Object.entries(KINDS).map(([kind, { $ref }]) => [kind, $ref])),
  },
});

/** Presents a model. SDKs expect a creation date, which vendors do not publish: the catalogue's version provides it. */
export function presentModel(
  model: MediaModel | TextModel,
  { version }: Pick<Catalogue, 'version'>,
  reason: UnavailableReason | null = null,
) {
  if (!('kind' in model)) return TEXT_MODEL.present({ ...model, version, reason });
  if (model.kind === 'video') return VIDEO_MODEL.present({ ...model, version, reason });
  return IMAGE_MODEL.present({ ...model, version, reason });
}

function clockTime(minute: number): string {
  return [Math.floor(minute / 60), minute % 60].map((part) => String(part).padStart(2, '0')).join(':');
}

/** The day of an edition that is named after its date, the start of 1970 for any other. */
export function dateOf(version: string): Date {
  const date = new Date(/^\d{4}-\d{2}-\d{2}$/.test(version) ? version : 0);
  return Number.isNaN(date.getTime()) ? new Date(0) : date;
}
