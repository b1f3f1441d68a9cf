/** The schema of models, as `present.ts` shows them. */
import { nullable } from '../../../domain/json-schema.ts';
import { WIRE_FORMAT_NAMES } from '../../../domain/wire-format-name.ts';
import {
  arrayOf,
  boolean,
  component,
  exactly,
  integer,
  namedObject,
  number,
  object,
  objectOf,
  oneOfTexts,
  optional,
  text,
  unixSeconds,
  usd,
} from '../../openapi/json-schema.ts';
import { UNAVAILABLE_REASONS } from '../../services/unavailable-model.ts';
import type { presentModel } from './present.ts';

type PresentedModel = ReturnType<typeof presentModel>;
type VideoModelObject = Extract<PresentedModel, { kind: 'video' }>;
type ImageModelObject = Extract<PresentedModel, { kind: 'image' }>;
type TextModelObject = Extract<PresentedModel, { kind: 'text' }>;

const modelHead = {
  id: text('The value for `model` in requests; exact and case-sensitive'),
  object: exactly('model'),
  created: unixSeconds('The edition of the catalogue'),
  owned_by: text(),
  unavailable_reason: optional(oneOfTexts(UNAVAILABLE_REASONS, 'Why the key cannot call the model now')),
};

const itemCount = object({ min: integer(), max: integer() });
const byResolution = { type: 'object', additionalProperties: usd('Price') };

const VideoModelSchema = namedObject<VideoModelObject>('VideoModel', {
  ...modelHead,
  kind: exactly('video'),
  endpoint: exactly('/v1/videos/tasks'),
  capability_version: nullable(integer()),
  limits: objectOf<VideoModelObject['limits']>({
    prompt_characters: itemCount,
    duration_seconds: object({
      min: integer(),
      max: integer(),
      default: integer(),
      values: optional(arrayOf(integer(), 'The only durations available, if not every one within the bounds is')),
    }),
    images: itemCount,
    reference_videos: itemCount,
    reference_audios: itemCount,
    aspect_ratios: arrayOf(text()),
    resolutions: arrayOf(text()),
  }),
  prices: objectOf<VideoModelObject['prices']>({ unit: oneOfTexts(['second', 'video']), by_resolution: byResolution }),
});

const ImageModelSchema = namedObject<ImageModelObject>('ImageModel', {
  ...modelHead,
  kind: exactly('image'),
  endpoint: exactly('/v1/images/tasks'),
  capability_version: nullable(integer()),
  limits: objectOf<ImageModelObject['limits']>({
    images: itemCount,
    aspect_ratios: arrayOf(text()),
    resolutions: arrayOf(text()),
    backgrounds: arrayOf(text()),
  }),
  prices: objectOf<ImageModelObject['prices']>({ unit: exactly('image'), by_resolution: byResolution }),
});

const TextModelSchema = namedObject<TextModelObject>('TextModel', {
  ...modelHead,
  kind: exactly('text'),
  family: text(),
  formats: arrayOf(oneOfTexts(WIRE_FORMAT_NAMES), 'The formats that serve the model'),
  reasoning: boolean('Whether the model may think before it answers'),
  free: boolean('Tokens are free of charge'),
  legacy: boolean('An older id that still works'),
  limits: objectOf<TextModelObject['limits']>({
    context_tokens: nullable(integer()),
    max_output_tokens: nullable(integer()),
  }),
  prices: objectOf<TextModelObject['prices']>({
    unit: exactly('1M tokens'),
    input: usd('Input tokens'),
    output: usd('Output tokens, reasoning included'),
    cached_input: usd('Input tokens read from the cache'),
    cache_write: usd('Input tokens written to the cache'),
    tiers: arrayOf(
      objectOf<TextModelObject['prices']['tiers'][number]>({
        threshold_tokens: integer('Input tokens'),
        applies: oneOfTexts(['over', 'at_or_over'], 'Whether the price applies above the threshold, or from it on'),
        factor: number('Multiplies the price of the whole request'),
      }),
    ),
    peaks: arrayOf(
      objectOf<TextModelObject['prices']['peaks'][number]>({
        utc_offset_minutes: integer('The time zone of the windows'),
        days: arrayOf(text()),
        windows: arrayOf(object({ from: text('HH:MM'), to: text('HH:MM') })),
        factor: number('Multiplies the price'),
      }),
    ),
  }),
});

/** A model of any kind. */
export const ModelSchema = component('Model', {
  oneOf: [VideoModelSchema, ImageModelSchema, TextModelSchema],
  discriminator: {
    propertyName: 'kind',
    mapping: { video: VideoModelSchema.$ref, image: ImageModelSchema.$ref, text: TextModelSchema.$ref },
  },
});
