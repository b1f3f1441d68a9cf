/** The schema of a catalogue file. Validation converts prices, factors and times of day to numbers. */
import Joi from 'joi';
import { BATCH_REMAINDERS } from '../domain/batch.ts';
import { COMPATIBILITIES, type Compatibility } from '../domain/compatibility.ts';
import type { SnakeCased } from '../domain/field-names.ts';
import { IMAGE_CHOICES, type ImageChoiceEntries } from '../domain/image-choices.ts';
import { IMAGE_TIERS, type ImageTier, imageSizeFor } from '../domain/image-size.ts';
import {
  FIELD_FORMS,
  FIELD_INPUTS,
  type FieldInput,
  type FieldName,
  type RankedRoute,
  IMAGE_ROLES,
  RESULT_CHECKS,
} from '../domain/media-route.ts';
import type { PicoUsd } from '../domain/money.ts';
import { parseRational, type Rational } from '../domain/rational.ts';
import { assertExactMediaPricing, parseFactor, parseTextPrice, type TextPriceName } from '../domain/pricing.ts';
import { videoSizeFor } from '../domain/video-size.ts';
import { isUncompressed, SPEECH_FORMATS } from '../domain/speech-format.ts';
import {
  type SingleFormatName,
  UPSTREAM_FORMAT_NAMES,
  type UpstreamFormatName,
  WIRE_FORMAT_NAMES,
  type WireFormatName,
} from '../domain/wire-format-name.ts';
import { ANSWER_TIMEOUT_FIELDS, type AnswerTimeouts, type AnswerTimeoutsEntry } from './answer-timeouts.ts';
import {
  PARAMETER_KEYS,
  type ParameterEntries,
  parameterNames,
  type PriceModifierEntry,
  toPriceModifiers,
} from './parameters.ts';
import { quoted, usd } from './quoted.ts';
import {
  type CostEntry,
  type InputPriceEntry,
  type TokenPricesEntry,
  type PricingEntry,
  type RerankPricesEntry,
  type VoicePricesEntry,
  WEEKDAYS,
  toCostPricing,
  toTextPricing,
} from './text-pricing.ts';
import {
  CHAT_FIELDS,
  type NativeBatch,
  NATIVE_BATCH_FORMATS,
  MAX_TOKENS_FIELDS,
  OUTPUT_MODALITIES,
  STRUCTURED_OUTPUTS,
  UNCHANGEABLE_FIELDS,
  MEDIA_KINDS,
  type MediaKind,
  type MediaModelBase,
  type TextModel,
  type TextRoute,
  type VideoModel,
} from './types.ts';

export interface CatalogueFile {
  readonly version: string;
  readonly media: {
    readonly unsupported_fields: readonly string[];
    readonly videos: readonly VideoEntry[];
    readonly images: readonly ImageEntry[];
  };
  readonly text?: {
    readonly assumed_output_tokens: number;
    readonly assumed_max_output_tokens: number;
    readonly assumed_context_tokens: number;
    readonly media_tokens: Readonly<Record<MediaKind, number>>;
    /** What requests of batches cost, as a part of the prices; all by default. */
    readonly batch_factor?: Rational;
    readonly claude_style_prefixes: readonly string[];
    readonly families: readonly FamilyEntry[];
    readonly embeddings: readonly EmbeddingsEntry[];
    readonly rerank: readonly RerankEntry[];
    readonly voice: readonly VoiceEntry[];
    readonly realtime: readonly RealtimeEntry[];
  };
}

type MediaFields = 'id' | 'capabilityVersion' | 'images' | 'aspectRatios' | 'defaultAspectRatio' | 'resultCheck';

type MediaEntry = SnakeCased<Pick<MediaModelBase, MediaFields>> & ParameterEntries & Routed<MediaRouteEntry>;

/** Either one route or a list. */
export interface Routed<Route> {
  readonly route?: Route;
  readonly routes?: readonly Route[];
}

export interface MediaRouteEntry extends SnakeCased<Omit<RankedRoute, 'order' | 'fields' | 'cost'>> {
  readonly order?: number;
  readonly fields?: Readonly<Partial<Record<FieldInput, string | FieldName>>>;
  readonly cost?: {
    readonly usd_per_second?: PicoUsd | Readonly<Record<string, PicoUsd>>;
    readonly usd_per_render?: PicoUsd | Readonly<Record<string, PicoUsd>>;
    readonly usd_per_unit?: Readonly<Record<string, PicoUsd>>;
    readonly modifiers?: readonly PriceModifierEntry[];
  };
}

type VideoFields = 'promptCharacters' | 'maxReferenceVideos' | 'maxReferenceAudios' | 'defaultResolution';

export interface VideoEntry extends MediaEntry, SnakeCased<Pick<VideoModel, VideoFields>> {
  /** Either bounds or a list. */
  readonly duration_seconds?: { readonly min: number; readonly max: number; readonly default: number };
  readonly durations_seconds?: readonly number[];
  /** Either per second or per video. */
  readonly usd_per_second?: Readonly<Record<string, PicoUsd>>;
  readonly usd_per_video?: Readonly<Record<string, PicoUsd>>;
}

export interface ImageEntry extends MediaEntry, ImageChoiceEntries {
  readonly usd_per_image: Readonly<Partial<Record<ImageTier, PicoUsd>>> | PicoUsd;
  readonly default_resolution: ImageTier;
}

type FamilyFields = 'family' | 'compatibility' | 'responsesFields' | 'reasoningEfforts';

export interface FamilyEntry extends SnakeCased<Pick<TextModel, FamilyFields>>, Routed<TextRouteEntry> {
  readonly formats?: readonly WireFormatName[];
  readonly models: readonly TextEntry[];
}

type GivenOfTextRoute = 'model' | 'order' | 'cost' | 'batch' | keyof AnswerTimeouts;

export interface TextRouteEntry extends AnswerTimeoutsEntry, SnakeCased<Omit<TextRoute, GivenOfTextRoute>> {
  readonly model?: string;
  readonly order?: number;
  readonly cost?: CostEntry;
  readonly batch?: 'native' | SnakeCased<NativeBatch>;
}

type SoldFields = 'id' | 'contextTokens' | 'fundedOnly' | 'requiresTopUp' | 'legacy';

/** The fields that every text model has. */
export interface SoldText extends SnakeCased<Pick<TextModel, SoldFields>> {
  readonly free?: true;
}

export interface TextEntry extends PricingEntry, SoldText, Routed<TextRouteEntry> {
  readonly max_output_tokens: number | null;
  readonly assumed_output_tokens?: number;
  readonly media_tokens?: Readonly<Partial<Record<MediaKind, number>>>;
  readonly reasoning: boolean;
  readonly reasoning_efforts?: readonly string[];
  readonly compatibility?: Compatibility;
}

export interface EmbeddingsEntry extends SoldText, Routed<EmbeddingsRouteEntry> {
  /** Absent on a free model. */
  readonly prices?: InputPriceEntry;
}

export interface EmbeddingsRouteEntry extends Omit<TextRouteEntry, 'cost'> {
  readonly cost?: InputPriceEntry;
}

export interface RerankEntry extends SoldText, Routed<RerankRouteEntry> {
  /** Absent on a free model. */
  readonly prices?: RerankPricesEntry;
}

export interface RerankRouteEntry extends Omit<TextRouteEntry, 'cost'> {
  readonly cost?: RerankPricesEntry;
}

/** The formats of models that speak or listen. */
const VOICE_FORMATS = ['speech', 'transcriptions', 'translations'] as const satisfies readonly SingleFormatName[];
/** The formats of upstreams that have voice. */
const VOICE_UPSTREAM_FORMATS = [
  'chat-completions',
  'generate-content',
] as const satisfies readonly UpstreamFormatName[];

export interface VoiceEntry extends SoldText, Routed<VoiceRouteEntry> {
  readonly max_output_tokens: number | null;
  readonly formats: readonly (typeof VOICE_FORMATS)[number][];
  /** Absent on a free model. */
  readonly prices?: VoicePricesEntry;
}

export interface VoiceRouteEntry extends Omit<TextRouteEntry, 'cost'> {
  readonly cost?: VoicePricesEntry;
}

/** The published limits bound the price of a response, so they are required. */
export interface RealtimeEntry extends SoldText, Routed<RealtimeRouteEntry> {
  readonly context_tokens: number;
  readonly max_output_tokens: number;
  readonly prices: TokenPricesEntry;
}

export interface RealtimeRouteEntry extends Omit<TextRouteEntry, 'cost'> {
  readonly webrtc: boolean;
  readonly cost?: TokenPricesEntry;
}

/** One of the values listed in a sibling field. */
const oneOf = (field: string): Joi.AnySchema =>
  Joi.valid(Joi.in(field))
    .required()
    .messages({ 'any.only': `{{#label}} must be one of ${field}` });

const name = Joi.string().min(1);
const names = Joi.array().items(name).unique();
const count = Joi.number().integer().min(1);
const published = count.allow(null).default(null);
const flag = Joi.boolean().default(false);
const factor = quoted(parseFactor);
const clockTime = quoted(parseClockTime);

/** Does not allow a single price for all resolutions, because the keys define the resolutions on offer. */
const pricesByResolution = Joi.object().pattern(name, usd).min(1);

const fieldName = Joi.alternatives(name, Joi.object({ to: name.required(), as: Joi.valid(...FIELD_FORMS) })).allow(
  null,
);

/** One cost for all resolutions, or one per resolution. */
const costs = Joi.alternatives(usd.optional(), Joi.object().pattern(name, usd).min(1));

const routed = (route: Joi.Schema): Joi.SchemaMap => ({ route, routes: Joi.array().items(route).min(1) });

/** A field of an upstream's request; points lead into objects. */
const fieldPath = Joi.string().pattern(/^\w+(?:\.\w+)*$/);
/** Headers with another meaning or with the credential, which do not belong into the catalogue. */
const headerName = Joi.string()
  .pattern(/^[a-z][a-z0-9-]*$/i)
  .insensitive()
  .invalid('authorization', 'x-api-key', 'x-goog-api-key', 'x-key', 'host', 'connection', 'transfer-encoding')
  .invalid('content-length', 'content-type');

const mediaRoute = Joi.object<MediaRouteEntry>({
  provider: name.required(),
  model: name.required(),
  order: Joi.number().integer().min(0),
  weight: count.default(1),
  model_with_images: name,
  images_as: Joi.valid(...IMAGE_ROLES),
  params: Joi.object().unknown(),
  drop: Joi.array().items(fieldPath).unique(),
  rename: Joi.object().pattern(fieldPath, fieldPath),
  set: Joi.object().pattern(fieldPath, Joi.any()),
  headers: Joi.object().pattern(headerName, Joi.string().pattern(/^[\x20-\x7e]*$/)),
  fields: Joi.object(Object.fromEntries(FIELD_INPUTS.map((input) => [input, fieldName]))),
  parameters: parameterNames,
  cost: Joi.object({
    usd_per_second: costs,
    usd_per_render: costs,
    usd_per_unit: Joi.object().pattern(name, usd).min(1),
    modifiers: PARAMETER_KEYS.price_modifiers.optional(),
  }).xor('usd_per_second', 'usd_per_render', 'usd_per_unit'),
});

const mediaKeys = {
  id: name.required(),
  capability_version: count.allow(null).required(),
  images: Joi.object({ max: count.required(), required: Joi.boolean().required() }).required(),
  aspect_ratios: names.min(1).required(),
  default_aspect_ratio: oneOf('aspect_ratios'),
  result_check: Joi.valid(...RESULT_CHECKS).default('exact'),
  ...PARAMETER_KEYS,
  ...routed(mediaRoute),
};

const video = Joi.object<VideoEntry>({
  ...mediaKeys,
  prompt_characters: Joi.object({ min: count.required(), max: count.min(Joi.ref('min')).required() }).required(),
  max_reference_videos: count.allow(null).required(),
  max_reference_audios: count.allow(null).required(),
  duration_seconds: Joi.object({
    min: count.required(),
    max: count.min(Joi.ref('min')).required(),
    default: count.min(Joi.ref('min')).max(Joi.ref('max')).required(),
  }),
  durations_seconds: Joi.array().items(count).unique().min(1),
  usd_per_second: pricesByResolution,
  usd_per_video: pricesByResolution,
  default_resolution: name.required(),
})
  .xor('route', 'routes')
  .xor('duration_seconds', 'durations_seconds')
  .xor('usd_per_second', 'usd_per_video')
  .custom(assertRenderableVideo);

const image = Joi.object<ImageEntry>({
  ...mediaKeys,
  ...Object.fromEntries(
    IMAGE_CHOICES.flatMap(({ name: choice, list }) => [
      [list, names.min(1)],
      [`default_${choice}`, oneOf(list).when(list, { is: Joi.exist(), otherwise: Joi.forbidden() })],
    ]),
  ),
  usd_per_image: Joi.alternatives(
    usd,
    Joi.object(Object.fromEntries(IMAGE_TIERS.map((tier) => [tier, usd.optional()]))).min(1),
  ).required(),
  default_resolution: Joi.valid(...IMAGE_TIERS).required(),
})
  .xor('route', 'routes')
  .custom(assertRenderableImage);

/** The most searches for one request, and the usual bound. */
const MAX_WEB_SEARCHES = 100;
const DEFAULT_WEB_SEARCHES = 10;

const textPrice = (name: TextPriceName) => quoted((usd) => parseTextPrice(name, usd));
const tokenPrices = Joi.object({
  input: textPrice('input'),
  output: textPrice('output'),
  cached_input: textPrice('cached_input'),
  cache_write: textPrice('cache_write'),
  cache_write_1h: textPrice('cache_write_1h').optional(),
  audio_input: textPrice('audio_input').optional(),
  cached_audio_input: textPrice('cached_audio_input').optional(),
  audio_output: textPrice('audio_output').optional(),
});

/** The factors for the prices of tokens. */
const factors = {
  tiers: Joi.array()
    .items({ threshold_tokens: count.required(), applies: Joi.valid('over', 'at_or_over').required(), factor })
    .default([]),
  peaks: Joi.array()
    .items({
      utc_offset: quoted(parseUtcOffset),
      days: Joi.array()
        .items(Joi.valid(...WEEKDAYS))
        .unique()
        .min(1)
        .required(),
      windows: Joi.array()
        .items(Joi.object({ from: clockTime, to: clockTime }).custom(assertForward))
        .min(1)
        .required(),
      factor,
    })
    .default([]),
};

const routeKeys = {
  provider: name.required(),
  model: name,
  order: Joi.number().integer().min(0),
  weight: count.default(1),
  ...ANSWER_TIMEOUT_FIELDS,
};

/** A field of an upstream, or a path with points. */
const changeableField = Joi.string()
  .pattern(/^\w+(?:\.\w+)*$/)
  .invalid(...UNCHANGEABLE_FIELDS);

const nativeBatch = Joi.alternatives(
  Joi.valid('native'),
  Joi.object({
    remainder: Joi.valid(...BATCH_REMAINDERS).default('direct'),
    cost_factor: quoted(parseRational).optional(),
  }),
);

const routeFields = {
  drop: Joi.array().items(changeableField).unique(),
  set: Joi.object().pattern(changeableField, Joi.any()),
  rename: Joi.object().pattern(changeableField, changeableField),
};

const textRoute = Joi.object({
  ...routeKeys,
  batch: nativeBatch.when('format', { is: Joi.valid(...NATIVE_BATCH_FORMATS), otherwise: Joi.forbidden() }),
  format: Joi.valid(...UPSTREAM_FORMAT_NAMES).required(),
  base_model: name,
  server_tools: Joi.boolean(),
  streams_only: Joi.boolean(),
  max_tokens_field: Joi.valid(...MAX_TOKENS_FIELDS),
  output_modalities: Joi.array()
    .items(Joi.valid(...OUTPUT_MODALITIES))
    .unique()
    .min(1),
  chat_fields: Joi.array().items(Joi.valid(...CHAT_FIELDS)),
  structured_output: Joi.valid(...STRUCTURED_OUTPUTS),
  check_output: Joi.boolean(),
  auto_cache: Joi.boolean(),
  ...routeFields,
  cost: tokenPrices.keys({ web_search: textPrice('web_search').optional(), ...factors }).custom(assertExactCost),
}).custom(assertFormatWithAudio);

const soldText = {
  id: name.required(),
  context_tokens: published,
  free: Joi.valid(true),
  funded_only: flag,
  requires_top_up: flag,
  legacy: flag,
};

const textModel = Joi.object<TextEntry>({
  ...soldText,
  max_output_tokens: published,
  assumed_output_tokens: count,
  media_tokens: Joi.object(Object.fromEntries(MEDIA_KINDS.map((kind) => [kind, count]))),
  reasoning: Joi.boolean().required(),
  reasoning_efforts: names,
  compatibility: Joi.valid(...COMPATIBILITIES),
  ...routed(textRoute),
  prices: tokenPrices,
  tools: Joi.object({
    web_search: Joi.object({
      usd_per_call: textPrice('web_search'),
      max_calls: Joi.number().integer().min(1).max(MAX_WEB_SEARCHES).default(DEFAULT_WEB_SEARCHES),
    }).required(),
  }),
  ...factors,
})
  .xor('prices', 'free')
  .nand('tools', 'free')
  .oxor('route', 'routes')
  .custom(assertExactPrices);

const inputPrice = Joi.object({ input: textPrice('input') });
const embeddingsRoute = Joi.object({
  ...routeKeys,
  format: Joi.valid('chat-completions').required(),
  batch: nativeBatch,
  ...routeFields,
  cost: inputPrice,
});

const embeddingsModel = Joi.object<EmbeddingsEntry>({
  ...soldText,
  ...routed(embeddingsRoute),
  prices: inputPrice,
})
  .xor('prices', 'free')
  .xor('route', 'routes');

const rerankPrices = Joi.object({
  input: textPrice('input').optional(),
  search_unit: textPrice('search_unit').optional(),
}).min(1);

const rerankModel = Joi.object<RerankEntry>({
  ...soldText,
  ...routed(Joi.object({ ...routeKeys, format: Joi.valid('chat-completions').required(), cost: rerankPrices })),
  prices: rerankPrices,
})
  .xor('prices', 'free')
  .xor('route', 'routes');

const voicePrices = Joi.object({
  input: textPrice('input').optional(),
  output: textPrice('output').optional(),
  audio_input: textPrice('audio_input').optional(),
  audio_output: textPrice('audio_output').optional(),
  character: textPrice('character').optional(),
  audio_second: textPrice('audio_second').optional(),
}).min(1);
const voiceRoute = Joi.object({
  ...routeKeys,
  ...routeFields,
  format: Joi.valid(...VOICE_UPSTREAM_FORMATS).required(),
  audio_formats: Joi.array()
    .items(Joi.valid(...SPEECH_FORMATS))
    .unique()
    .min(1),
  cost: voicePrices,
});

const voiceModel = Joi.object<VoiceEntry>({
  ...soldText,
  max_output_tokens: published,
  formats: Joi.array()
    .items(Joi.valid(...VOICE_FORMATS))
    .unique()
    .min(1)
    .required(),
  ...routed(voiceRoute),
  prices: voicePrices,
})
  .xor('prices', 'free')
  .xor('route', 'routes')
  .custom(assertMeasuredSpeech)
  .custom(assertFieldsOfSpeech);

const { free: _free, ...charged } = soldText;

const realtimeModel = Joi.object<RealtimeEntry>({
  ...charged,
  context_tokens: count.required(),
  max_output_tokens: count.required(),
  ...routed(
    Joi.object({ ...routeKeys, format: Joi.valid('chat-completions').required(), cost: tokenPrices, webrtc: flag }),
  ),
  prices: tokenPrices.required(),
}).xor('route', 'routes');

/** Every error message names the path of the field. */
export const catalogueSchema = Joi.object<CatalogueFile>({
  version: name.required(),
  media: Joi.object({
    unsupported_fields: names.default([]),
    videos: Joi.array().items(video).default([]),
    images: Joi.array().items(image).default([]),
  }).default({ unsupported_fields: [], videos: [], images: [] }),
  text: Joi.object({
    assumed_output_tokens: count.required(),
    assumed_max_output_tokens: count.required(),
    assumed_context_tokens: count.required(),
    media_tokens: Joi.object(Object.fromEntries(MEDIA_KINDS.map((kind) => [kind, count.required()]))).required(),
    batch_factor: quoted(parseRational).optional(),
    claude_style_prefixes: names.required(),
    families: Joi.array()
      .items(
        Joi.object({
          family: name.required(),
          compatibility: Joi.valid(...COMPATIBILITIES).default('specification'),
          formats: Joi.array()
            .items(Joi.valid(...WIRE_FORMAT_NAMES))
            .unique()
            .min(1)
            .when('compatibility', { is: 'full', otherwise: Joi.required() }),
          ...routed(textRoute),
          responses_fields: names.default([]),
          reasoning_efforts: names.default([]),
          models: Joi.array().items(textModel).min(1).required(),
        })
          .xor('route', 'routes')
          .custom(assertFullWithAudio),
      )
      .unique('family')
      .required(),
    embeddings: Joi.array().items(embeddingsModel).default([]),
    rerank: Joi.array().items(rerankModel).default([]),
    voice: Joi.array().items(voiceModel).default([]),
    realtime: Joi.array().items(realtimeModel).default([]),
  }),
})
  .required()
  .messages({ 'any.custom': '{{#label}} is wrong: {{#error.message}}' });

/** @returns minutes since midnight; `24:00` is the end of the day */
function parseClockTime(text: string): number {
  const match = /^(\d{2}):([0-5]\d)$/.exec(text);
  const minutes = match ? Number(match[1]) * 60 + Number(match[2]) : Number.NaN;
  if (!(minutes <= 24 * 60)) throw new RangeError(`not a time from 00:00 to 24:00: ${text}`);
  return minutes;
}

function assertForward(window: { readonly from: number; readonly to: number }): unknown {
  if (window.from >= window.to)
    throw new RangeError('it must end after it begins; split a window that passes midnight');
  return window;
}

/** @returns minutes to add to UTC */
function parseUtcOffset(text: string): number {
  const match = /^([+-])(0\d|1[0-4]):([0-5]\d)$/.exec(text);
  if (!match) throw new RangeError(`not an offset from UTC such as +08:00: ${text}`);
  const minutes = Number(match[2]) * 60 + Number(match[3]);
  return match[1] === '-' ? -minutes : minutes;
}

function assertRenderableVideo(entry: VideoEntry): VideoEntry {
  const resolutions = Object.keys(entry.usd_per_second ?? entry.usd_per_video ?? {});
  if (!resolutions.includes(entry.default_resolution)) {
    throw new RangeError(
      `default_resolution has no price in ${entry.usd_per_video ? 'usd_per_video' : 'usd_per_second'}`,
    );
  }
  assertExactMedia(entry, entry.usd_per_second ?? entry.usd_per_video ?? {});
  for (const resolution of resolutions) {
    for (const aspectRatio of entry.aspect_ratios) videoSizeFor(resolution, aspectRatio);
  }
  return entry;
}

function assertRenderableImage(entry: ImageEntry): ImageEntry {
  const prices = entry.usd_per_image;
  if (typeof prices === 'object' && prices[entry.default_resolution] === undefined) {
    throw new RangeError('default_resolution has no price in usd_per_image');
  }
  assertExactMedia(entry, typeof prices === 'bigint' ? { any: prices } : prices);
  for (const tier of IMAGE_TIERS) {
    for (const aspectRatio of entry.aspect_ratios) imageSizeFor(tier, aspectRatio);
  }
  return entry;
}

/** A price by seconds needs formats whose bytes tell the seconds. */
function voiceRoutesOf({ route, routes }: VoiceEntry): readonly VoiceRouteEntry[] {
  return routes ?? (route === undefined ? [] : [route]);
}

/** The bodies of recordings are files, and have no fields to change. */
function assertFieldsOfSpeech(entry: VoiceEntry): VoiceEntry {
  const isChanged = voiceRoutesOf(entry).some((route) => [route.drop, route.set, route.rename].some(Boolean));
  if (!isChanged || entry.formats.every((format) => format === 'speech')) return entry;
  throw new RangeError('drop, set and rename are for models whose formats are [speech]');
}

function assertMeasuredSpeech(entry: VoiceEntry): VoiceEntry {
  if (entry.prices?.audio_second === undefined || !entry.formats.includes('speech')) return entry;
  const isMeasured = voiceRoutesOf(entry).every(({ format, audio_formats: audioFormats }) =>
    audioFormats === undefined ? format === 'generate-content' : audioFormats.every(isUncompressed),
  );
  if (!isMeasured) throw new RangeError('speech with a price by audio_second needs audio_formats: [wav, pcm]');
  return entry;
}

function assertExactMedia(
  { price_modifiers }: ParameterEntries,
  byResolution: Readonly<Record<string, PicoUsd>>,
): void {
  assertExactMediaPricing({ byResolution, modifiers: toPriceModifiers(price_modifiers) });
}

/** Only these formats have answers with audio. */
function assertFormatWithAudio(entry: TextRouteEntry): TextRouteEntry {
  const isSpoken = entry.output_modalities?.includes('audio') === true;
  if (!isSpoken || VOICE_UPSTREAM_FORMATS.some((format) => format === entry.format)) return entry;
  throw new RangeError(`output_modalities has audio, which only ${VOICE_UPSTREAM_FORMATS.join(' and ')} have`);
}

/** The other compatibility accepts no fields of audio. */
function assertFullWithAudio(family: FamilyEntry): FamilyEntry {
  for (const model of family.models) {
    const routed = (model.route ?? model.routes) ? model : family;
    const routes = routed.routes ?? (routed.route === undefined ? [] : [routed.route]);
    const isSpoken = routes.some(({ output_modalities: modalities }) => modalities?.includes('audio') === true);
    if (isSpoken && (model.compatibility ?? family.compatibility) !== 'full') {
      throw new RangeError(`${model.id} has audio in output_modalities, which needs compatibility: full`);
    }
  }
  return family;
}

function assertExactPrices(entry: TextEntry): TextEntry {
  toTextPricing(entry);
  return entry;
}

function assertExactCost(cost: CostEntry): CostEntry {
  toCostPricing(cost);
  return cost;
}
