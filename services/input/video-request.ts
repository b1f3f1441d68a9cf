/** The body of `POST /v1/videos/tasks`: contract 4.2. */
import Joi from 'joi';
import type { Catalogue, VideoModel } from '../../catalogue/types.ts';
import { chooseParameters, parameterKeys } from './model-parameters.ts';
import {
  COMMON_FIELDS,
  type CommonFields,
  createMediaRequestParser,
  endUserOf,
  type MediaRequestContext,
} from './media-request.ts';
import type { ValidatedMediaRequest } from '../tasks/media-request.ts';
import { choice, freeText, linkList } from './validation.ts';

/** The fields as sent. */
export interface VideoRequestBody extends CommonFields {
  readonly model: string;
  readonly prompt: string;
  readonly images?: readonly string[];
  readonly reference_videos?: readonly string[];
  readonly reference_audios?: readonly string[];
  readonly duration?: number;
  readonly aspect_ratio?: string;
  readonly resolution?: string;
}

export interface ValidatedVideoRequest extends ValidatedMediaRequest<VideoModel> {
  /** The seconds that determine the price. */
  readonly billableDurationSeconds: number;
}

/**
 * The fields of one model. Errors are reported in this order. Defaults are only documented here: the model's own are
 * filled in later, once the combination of fields has been checked.
 */
export function videoRequestSchema(
  model: VideoModel,
  context: MediaRequestContext,
): Joi.ObjectSchema<VideoRequestBody> {
  const links = (maxItems: number): Joi.ArraySchema => linkList(maxItems, context.isInputLink);
  const references = {
    ...(model.maxReferenceVideos !== null && {
      reference_videos: links(model.maxReferenceVideos).description('Links to videos to take motion or style from'),
    }),
    ...(model.maxReferenceAudios !== null && {
      reference_audios: links(model.maxReferenceAudios).description('Links to audio to take speech or rhythm from'),
    }),
  };
  const images = links(model.images.max).description('Links to pictures, passed to the model in this order');
  const schema = Joi.object<VideoRequestBody>({
    model: Joi.valid(model.id).required().description('The model').example(model.id),
    prompt: freeText(model.promptCharacters)
      .required()
      .description('The content of the video')
      .example('A lighthouse at dusk, waves breaking below'),
    images: model.images.required ? images.required() : images,
    ...references,
    duration: durationOf(model).default(model.durationSeconds.default).description('The length in seconds'),
    aspect_ratio: choice(model.aspectRatios).default(model.defaultAspectRatio).description('Width to height'),
    resolution: choice(Object.keys(model.pricing.byResolution))
      .default(model.defaultResolution)
      .description('The length of the short edge'),
    ...parameterKeys(model.parameters, context),
    ...COMMON_FIELDS,
  }).prefs({ noDefaults: true });
  const referenceFields = Object.keys(references);
  if (referenceFields.length === 0) return schema;
  return schema
    .without('images', referenceFields)
    .messages({ 'object.without': 'Cannot combine "images" with reference inputs in one task' });
}

/** Any whole number of seconds within the bounds, or one of the durations on sale. */
function durationOf({ durationSeconds: { min, max, values } }: VideoModel): Joi.AnySchema {
  if (values === null) return Joi.number().integer().min(min).max(max);
  return Joi.valid(...values).messages({
    'any.only': `{{#label}} is outside its supported range: it must be one of [${values.join(' ')}]`,
  });
}

/**
 * Creates the check of create calls for videos.
 *
 * @returns a function from a parsed JSON body to the request with its defaults; throws ServiceError `bad_request`
 */
export function createVideoRequestParser(
  catalogue: Catalogue,
  context: MediaRequestContext,
): (body: unknown) => ValidatedVideoRequest {
  const otherEndpoint = { models: catalogue.imageModels, endpoint: 'POST /v1/images/tasks' };
  return createMediaRequestParser(
    { models: catalogue.videoModels, otherEndpoint, schemaOf: videoRequestSchema, complete },
    context,
  );
}

function complete(model: VideoModel, body: VideoRequestBody): ValidatedVideoRequest {
  const durationSeconds = body.duration ?? model.durationSeconds.default;
  const resolution = body.resolution ?? model.defaultResolution;
  const chosen = chooseParameters(model, body);
  return {
    model,
    order: { resolution, durationSeconds, parameters: chosen.parameters },
    billableDurationSeconds: durationSeconds,
    endUser: endUserOf(body),
    render: {
      kind: 'video',
      prompt: body.prompt,
      ...(body.images && { images: body.images }),
      ...(body.reference_videos && { referenceVideos: body.reference_videos }),
      ...(body.reference_audios && { referenceAudios: body.reference_audios }),
      durationSeconds,
      aspectRatio: body.aspect_ratio ?? model.defaultAspectRatio,
      resolution,
      ...chosen,
    },
  };
}
