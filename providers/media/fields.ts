/** Maps inputs to the fields of models that have their own field names, as at fal and Replicate (docs/catalogue.md). */
import type { PixelSize } from '../../domain/image-size.ts';
import { chooseValues, type ChosenValues, type ImageChoice } from '../../domain/image-choices.ts';
import { videoSizeFor } from '../../domain/video-size.ts';
import type { FieldForm, FieldInput, FieldNames, ParameterNames } from '../../domain/media-route.ts';
import type { JsonObject } from '../../domain/json.ts';
import type { InputFile, RenderRequest } from './adapter.ts';
import type { FormPart } from './form.ts';
import { mergeParams } from './json.ts';
import { JobRefusedError } from './outcomes.ts';
import { IMAGE_RATIOS, ratioFor } from './range.ts';

/**
 * The fields of a model.
 *
 * @param usual the vendor's usual names, for inputs that the route does not map
 * @throws JobRefusedError for images, videos and audio that no field takes, and for a size that is near no ratio
 */
export function fieldsOf(request: RenderRequest, usual: FieldNames): JsonObject {
  const names: FieldNames = { ...usual, ...request.fields };
  assertAllTaken(request, names);
  const size = sizeOf(request);
  const { images = [], referenceVideos = [], referenceAudios = [], imagesAs } = request;
  const values: Readonly<Record<Exclude<FieldInput, ImageChoice>, unknown>> & ChosenValues = {
    prompt: request.prompt,
    image: images[0],
    last_image: imagesAs === 'first_and_last_frame' ? images[1] : undefined,
    images: unlessEmpty(images),
    videos: unlessEmpty(referenceVideos),
    audios: unlessEmpty(referenceAudios),
    duration: request.durationSeconds,
    aspect_ratio: request.aspectRatio ?? (names.aspect_ratio && size && ratioFor(size, IMAGE_RATIOS)),
    resolution: request.resolution,
    width: size?.width,
    height: size?.height,
    size,
    ...chooseValues((name) => request[name]),
  };
  return Object.fromEntries(
    Object.entries(names).flatMap(([input, name]) => {
      const value = isInput(input, values) ? values[input] : undefined;
      return name === null || name === undefined || value === undefined ? [] : [[name.to, inForm(value, name.as)]];
    }),
  );
}

/**
 * The upstream's fields for the model's own parameters.
 *
 * @param names the upstream's name or path if it differs, such as `parameters.negativePrompt`; null omits the parameter
 */
export function parameterFields(values: JsonObject = {}, names: ParameterNames = {}): JsonObject {
  return Object.entries(values).reduce<JsonObject>((fields, [name, value]) => {
    const path = names[name] === undefined ? name : names[name];
    return path === null ? fields : mergeParams(fields, nest(path.split('.'), value));
  }, {});
}

/** The fields of a request as parts of a form: links in the model's own fields as files, lists and objects as JSON. */
export function partsFor(
  fields: JsonObject,
  { files, params, parameterLinks = [] }: Pick<RenderRequest, 'files' | 'params' | 'parameterLinks'>,
): readonly FormPart[] {
  return Object.entries(fields).map(([name, value]) => {
    if (typeof value !== 'string') return { name, value: JSON.stringify(value) };
    const file = params[name] === value && parameterLinks.includes(value) ? files.get(value) : undefined;
    return file ? filePart(name, file) : { name, value };
  });
}

export function filePart(name: string, { name: filename, mimeType: contentType, bytes }: InputFile): FormPart {
  return { name, filename, contentType, bytes };
}

function nest([name = '', ...path]: readonly string[], value: unknown): JsonObject {
  return { [name]: path.length === 0 ? value : nest(path, value) };
}

function isInput(name: string, values: object): name is FieldInput {
  return Object.hasOwn(values, name);
}

function unlessEmpty(links: readonly string[]): readonly string[] | undefined {
  return links.length === 0 ? undefined : links;
}

/** Refuses inputs that no field takes: the client would pay for an image that the model ignores. */
function assertAllTaken(request: RenderRequest, names: FieldNames): void {
  const { images = [], referenceVideos = [], referenceAudios = [], imagesAs } = request;
  const hasLast = imagesAs === 'first_and_last_frame' && Boolean(names.last_image);
  const taken = names.images ? images.length : Number(Boolean(names.image)) + Number(hasLast);
  if (images.length > taken) {
    throw new JobRefusedError(
      'bad_request',
      taken === 0 ? 'The model takes no images.' : `The model takes ${taken} of the images.`,
    );
  }
  if (referenceVideos.length > 0 && !names.videos)
    throw new JobRefusedError('bad_request', 'The model takes no videos.');
  if (referenceAudios.length > 0 && !names.audios)
    throw new JobRefusedError('bad_request', 'The model takes no audio.');
}

function sizeOf({ width, height, resolution, aspectRatio }: RenderRequest): PixelSize | undefined {
  if (width !== undefined && height !== undefined) return { width, height };
  return resolution !== undefined && aspectRatio !== undefined ? videoSizeFor(resolution, aspectRatio) : undefined;
}

/** Without a form in the route, writes a size as `1280x720` and other values unchanged. */
function inForm(value: unknown, form?: FieldForm): unknown {
  switch (form) {
    case 'number':
      return Number(value);
    case 'string':
      return textOf(value);
    case 'seconds':
      return `${textOf(value)}s`;
    case 'list':
      return Array.isArray(value) ? value : [value];
    case 'object':
      return value;
    default:
      return isSize(value) ? textOf(value) : value;
  }
}

function textOf(value: unknown): string {
  return isSize(value) ? `${value.width}x${value.height}` : String(value);
}

function isSize(value: unknown): value is PixelSize {
  return typeof value === 'object' && value !== null && 'width' in value && 'height' in value;
}
