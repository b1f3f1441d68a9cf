/** The body of `POST /v1/images/tasks`: contract 4.3. */
import Joi from 'joi';
import type { Catalogue, ImageModel } from '../../catalogue/types.ts';
import { chooseValues, type ChosenValues, IMAGE_CHOICES } from '../../domain/image-choices.ts';
import {
  IMAGE_SIZE_LIMITS,
  IMAGE_SIZE_PATTERN,
  IMAGE_TIERS,
  type ImageTier,
  type PixelSize,
  imageSizeFor,
  imageTierOf,
  parseImageSize,
} from '../../domain/image-size.ts';
import { badRequest } from '../../domain/errors.ts';
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

/** The fields as sent, but with `size` parsed. */
export interface ImageRequestBody extends ChosenValues, CommonFields {
  readonly model: string;
  readonly prompt: string;
  readonly images?: readonly string[];
  readonly aspect_ratio?: string;
  readonly resolution?: ImageTier;
  readonly size?: PixelSize;
}

export interface ValidatedImageRequest extends ValidatedMediaRequest<ImageModel> {
  /** The tier that determines the price. */
  readonly tier: ImageTier;
}

const SIZE_SENTENCE =
  `{{#label}} must be WIDTHxHEIGHT with both edges multiples of ${IMAGE_SIZE_LIMITS.edgeMultiple} ` +
  `from ${IMAGE_SIZE_LIMITS.minEdge} to ${IMAGE_SIZE_LIMITS.maxEdge} pixels, ` +
  `${IMAGE_SIZE_LIMITS.minPixels} to ${IMAGE_SIZE_LIMITS.maxPixels} pixels in total, ` +
  `and a long edge of at most ${IMAGE_SIZE_LIMITS.maxAspectRatio} times the short edge`;

/**
 * The fields of one model. Errors are reported in this order. Defaults are only documented here: the model's own are
 * filled in later, once the combination of fields has been checked.
 */
export function imageRequestSchema(
  model: ImageModel,
  context: MediaRequestContext,
): Joi.ObjectSchema<ImageRequestBody> {
  const images = linkList(model.images.max, context.isInputLink).description(
    'Links to PNG, JPEG or WebP source pictures',
  );
  const size = Joi.string()
    .custom((text: string, helpers) => parseImageSize(text) ?? helpers.error('size.refused'))
    .messages({ 'string.empty': SIZE_SENTENCE, 'size.refused': SIZE_SENTENCE })
    .meta({ openapi: { pattern: IMAGE_SIZE_PATTERN.source } });
  return Joi.object<ImageRequestBody>({
    model: Joi.valid(model.id).required().description('The model').example(model.id),
    prompt: freeText({ min: 1 })
      .required()
      .description('The subject of the image, or the change to the pictures')
      .example('A lighthouse at dusk, in watercolour'),
    images: model.images.required ? images.required() : images,
    aspect_ratio: choice(model.aspectRatios).default(model.defaultAspectRatio).description('Width to height'),
    resolution: choice(tiersOf(model)).default(model.defaultResolution).description('The resolution tier'),
    size: size.description('The exact size in pixels, instead of `resolution` and `aspect_ratio`').example('1536x1024'),
    ...Object.fromEntries(
      IMAGE_CHOICES.flatMap(({ name, description }) => {
        const offered = model.choices.get(name);
        return offered ? [[name, choice(offered.values).default(offered.default).description(description)]] : [];
      }),
    ),
    ...parameterKeys(model.parameters, context),
    ...COMMON_FIELDS,
  })
    .without('size', ['aspect_ratio', 'resolution'])
    .prefs({ noDefaults: true });
}

/**
 * Creates the check of create calls for images. The links in `render.images` are checked by syntax only; their content
 * is checked later.
 *
 * @returns a function from a parsed JSON body to the request with its defaults and price; throws ServiceError
 *   `bad_request`
 */
export function createImageRequestParser(
  catalogue: Catalogue,
  context: MediaRequestContext,
): (body: unknown) => ValidatedImageRequest {
  const otherEndpoint = { models: catalogue.videoModels, endpoint: 'POST /v1/videos/tasks' };
  return createMediaRequestParser(
    { models: catalogue.imageModels, otherEndpoint, schemaOf: imageRequestSchema, complete },
    context,
  );
}

/** The tiers in which the model is sold. */
function tiersOf({ pricing: { byResolution } }: ImageModel): readonly ImageTier[] {
  return IMAGE_TIERS.filter((tier) => byResolution[tier] !== undefined);
}

function complete(model: ImageModel, body: ImageRequestBody): ValidatedImageRequest {
  const tier = body.size ? imageTierOf(body.size) : (body.resolution ?? model.defaultResolution);
  if (model.pricing.byResolution[tier] === undefined) {
    throw badRequest(`"size" falls in tier ${tier}, but ${model.id} renders [${tiersOf(model).join(' ')}]`);
  }
  const { width, height } = body.size ?? imageSizeFor(tier, body.aspect_ratio ?? model.defaultAspectRatio);
  const chosen = chooseParameters(model, body);
  return {
    model,
    order: { resolution: tier, parameters: chosen.parameters },
    tier,
    endUser: endUserOf(body),
    render: {
      kind: 'image',
      prompt: body.prompt,
      ...(body.images && { images: body.images }),
      width,
      height,
      ...chooseValues((name) => body[name] ?? model.choices.get(name)?.default),
      ...chosen,
    },
  };
}
