/** Describes a model as text and as JSON Schema, for callers that do not know the model. */
import type { ImageModel, MediaModel, TextModel, VideoModel } from '../../../catalogue/types.ts';
import { type JsonObject, objectOf } from '../../../domain/json.ts';
import type { JsonSchema } from '../../../domain/json-schema.ts';
import { exampleParameters, parametersIn } from '../../../domain/model-parameters.ts';
import type { PicoUsd } from '../../../domain/money.ts';
import { priceMedia, priceText } from '../../../domain/pricing.ts';
import { ANY_LINK } from '../../openapi/describe-by-model.ts';
import { toJsonSchema } from '../../openapi/joi-schema.ts';
import { imageRequestSchema } from '../../../services/input/image-request.ts';
import { videoRequestSchema } from '../../../services/input/video-request.ts';

export type Model = MediaModel | TextModel;

/** A model as a capability. */
export interface Capability {
  readonly kind: 'video' | 'image' | 'text';
  /** A sentence for people and agents. */
  readonly summary: string;
  /** Further words by which a search finds the model. */
  readonly synonyms: string;
  /** The price of an example, with the description of the example. */
  readonly price: PicoUsd;
  readonly priceOf: string;
  readonly inputs: JsonSchema;
  readonly outputs: JsonSchema;
  /** Valid inputs. */
  readonly example: JsonObject;
}

/** @param picture the link of a picture for examples */
export function describeCapability(model: Model, picture: string): Capability {
  if (!('kind' in model)) return describeText(model);
  return model.kind === 'video' ? describeVideo(model, picture) : describeImage(model, picture);
}

/** Valid inputs, without the prompt. */
function exampleInputs({ images, parameters }: MediaModel, picture: string): JsonObject {
  return { ...(images.required && { images: [picture] }), ...exampleParameters(parameters, picture) };
}

const MEDIA_OUTPUTS: JsonSchema = {
  type: 'object',
  description: 'A task. Run again with the same idempotency_key until its status is final',
  properties: {
    id: { type: 'string' },
    status: { type: 'string', enum: ['queued', 'processing', 'succeeded', 'failed'] },
    output: {
      type: ['object', 'null'],
      properties: {
        media: {
          type: 'array',
          items: { type: 'object', properties: { url: { type: 'string' }, mime_type: { type: 'string' } } },
        },
      },
    },
    error_message: { type: ['string', 'null'] },
  },
};

function describeVideo(model: VideoModel, picture: string): Capability {
  const { durationSeconds, pricing, defaultResolution } = model;
  const { min, max, default: seconds } = durationSeconds;
  const inputs = exampleInputs(model, picture);
  const resolutions = Object.keys(pricing.byResolution).join(', ');
  return {
    kind: 'video',
    summary: `Creates videos of ${min} to ${max} seconds in ${resolutions} from a prompt${inputSummary(model)}.`,
    synonyms: 'video clip movie film animation animate motion',
    price: priceMedia(pricing, {
      resolution: defaultResolution,
      durationSeconds: seconds,
      parameters: parametersIn(inputs, model.parameters),
    }),
    priceOf: `a video of ${seconds} seconds in ${defaultResolution}`,
    inputs: inputsOf(toJsonSchema(videoRequestSchema(model, ANY_LINK))),
    outputs: MEDIA_OUTPUTS,
    example: { prompt: 'A lighthouse at dusk, waves breaking below', ...inputs },
  };
}

function inputSummary({ images, maxReferenceVideos, maxReferenceAudios }: VideoModel): string {
  const pictures = images.required ? ` and 1 to ${images.max} pictures` : `, or from up to ${images.max} pictures`;
  const references = [maxReferenceVideos && 'videos', maxReferenceAudios && 'sounds'].filter(Boolean).join(' and ');
  return references === '' ? pictures : `${pictures}, or from reference ${references}`;
}

function describeImage(model: ImageModel, picture: string): Capability {
  const { images, pricing, defaultResolution, parameters } = model;
  const inputs = exampleInputs(model, picture);
  const needs = images.required ? ` and 1 to ${images.max} pictures` : `, or edits up to ${images.max} pictures`;
  return {
    kind: 'image',
    summary: `Creates images in ${Object.keys(pricing.byResolution).join(', ')} from a prompt${needs}.`,
    synonyms: 'image picture photo drawing draw illustration painting edit',
    price: priceMedia(pricing, { resolution: defaultResolution, parameters: parametersIn(inputs, parameters) }),
    priceOf: `an image in ${defaultResolution}`,
    inputs: inputsOf(toJsonSchema(imageRequestSchema(model, ANY_LINK))),
    outputs: MEDIA_OUTPUTS,
    example: { prompt: 'A lighthouse at dusk, in watercolour', ...inputs },
  };
}

/** The fields of a create call without the model, which is the capability itself. */
function inputsOf(schema: JsonSchema): JsonSchema {
  const { properties, required, ...rest } = schema;
  const { model: _, ...inputs } = objectOf(properties);
  const names = Array.isArray(required) ? required.filter((name) => name !== 'model') : [];
  return { ...rest, properties: inputs, required: names };
}

/** The example price of text is for this many input tokens, and as many output tokens. */
const TEXT_EXAMPLE_TOKENS = 1_000;

const TEXT_INPUTS: JsonSchema = {
  type: 'object',
  properties: {
    prompt: { type: 'string', minLength: 1, description: 'The question or instruction' },
    system: { type: 'string', description: 'Instructions' },
    max_tokens: { type: 'integer', minimum: 1, description: 'The most output tokens, reasoning included' },
    schema: { type: 'object', description: 'A JSON Schema for a JSON answer, if the model supports it' },
  },
  required: ['prompt'],
  additionalProperties: false,
};

const TEXT_OUTPUTS: JsonSchema = {
  type: 'object',
  properties: {
    text: { type: 'string' },
    finish_reason: { type: 'string' },
    usage: {
      type: 'object',
      properties: { prompt_tokens: { type: 'integer' }, completion_tokens: { type: 'integer' } },
    },
  },
};

function describeText(model: TextModel): Capability {
  const { contextTokens, reasoning, free, pricing } = model;
  const context = contextTokens === null ? '' : ` Prompts may have ${contextTokens} tokens.`;
  const usage = {
    inputTotal: TEXT_EXAMPLE_TOKENS,
    cacheRead: 0,
    cacheWrite: 0,
    cacheWrite1h: 0,
    outputTotal: TEXT_EXAMPLE_TOKENS,
  };
  return {
    kind: 'text',
    summary: `Answers text and pictures with text${reasoning ? ', after reasoning' : ''}${free ? ', free of charge' : ''}.${context}`,
    synonyms: 'text chat write answer question summarize summary translate code program extract classify language llm',
    // The price outside peak hours.
    price: priceText({ ...pricing, peaks: [] }, usage, 0).charge,
    priceOf: `${TEXT_EXAMPLE_TOKENS} input and ${TEXT_EXAMPLE_TOKENS} output tokens`,
    inputs: TEXT_INPUTS,
    outputs: TEXT_OUTPUTS,
    example: { prompt: 'Name three lighthouses.', max_tokens: 1_000 },
  };
}
