/** Checks that an upstream can deliver everything that a model sells, by preparing requests without sending them. */
import type { Finding, OperatorFile } from '../catalogue/operator-file.ts';
import type { ImageModel, VideoModel } from '../catalogue/types.ts';
import type { UncheckedModel } from '../catalogue/unchecked-models.ts';
import { type FieldPath, writePath } from '../domain/substitute-variables.ts';
import { newId } from '../domain/ids.ts';
import { imageSizeFor } from '../domain/image-size.ts';
import { imageRoleOf, type RankedRoute } from '../domain/media-route.ts';
import type { KindTraits, MediaAdapter, RenderRequest } from './media/adapter.ts';
import { fingerprintOf } from './media/json.ts';
import { JobRefusedError } from './media/outcomes.ts';
import { withRouteChanges } from './media/route-fields.ts';
import { assertInRange } from './media/range.ts';
import { findVendorResolution } from './media/resolutions.ts';

/** One value that clients can choose, its place in the file, and a request with the value. */
interface Choice {
  readonly path: FieldPath;
  readonly name: string;
  readonly request: RenderRequest;
}

/** Choices of one kind. If two lead to the same request, clients pay for a choice that the upstream never sees. */
interface Dimension {
  readonly choices: readonly Choice[];
  readonly mustDiffer: boolean;
}

const DEADLINE = new Date('2100-01-01');

/** @param path the path of the model in the file */
export function deliveryFindings(
  file: OperatorFile,
  { path }: UncheckedModel,
  model: VideoModel | ImageModel,
  route: RankedRoute,
  adapter: MediaAdapter,
): readonly Finding[] {
  const traits = adapter.kinds[model.kind];
  if (!traits) return [];
  const dimensions =
    model.kind === 'video' ? videoDimensions(path, model, route, traits) : imageDimensions(path, model, route);
  return [
    ...dimensions.flatMap((dimension) => dimensionFindings(file, dimension, { route, adapter, traits })),
    ...pixelFindings(file, path, { model, route, traits }),
  ];
}

function dimensionFindings(
  file: OperatorFile,
  { choices, mustDiffer }: Dimension,
  {
    route,
    adapter,
    traits,
  }: { readonly route: RankedRoute; readonly adapter: MediaAdapter; readonly traits: KindTraits },
): readonly Finding[] {
  const first = new Map<string, string>();
  return choices.flatMap(({ path, name, request }) => {
    const label = `"${writePath(path)}" cannot be delivered by the upstream "${route.provider}"`;
    try {
      assertInRange(request, traits.range);
      const { path: address, query, body } = withRouteChanges(adapter.submission(request), request.changes);
      const sent = fingerprintOf({ address, query, body });
      const other = first.get(sent);
      first.set(sent, other ?? name);
      return mustDiffer && other !== undefined
        ? [file.finding(path, `${label}: it would be sent the same request for ${name} as for ${other}`)]
        : [];
    } catch (error) {
      if (!(error instanceof JobRefusedError)) throw error;
      return [file.finding(path, `${label}: ${error.message}`)];
    }
  });
}

/** A result with other pixels would fail the exact check after the operator has paid for it. */
function pixelFindings(
  file: OperatorFile,
  path: FieldPath,
  {
    model,
    route,
    traits,
  }: { readonly model: VideoModel | ImageModel; readonly route: RankedRoute; readonly traits: KindTraits },
): readonly Finding[] {
  if (traits.range.pixels === 'requested' || model.resultCheck !== 'exact') return [];
  const at = [...path, 'result_check'];
  const message = `"${writePath(at)}" must be ratio or any, since the upstream "${route.provider}" renders in pixels of its own`;
  return [file.finding(at, message)];
}

function videoDimensions(
  path: FieldPath,
  model: VideoModel,
  route: RankedRoute,
  { resolutions: names }: KindTraits,
): readonly Dimension[] {
  const { pricing, durationSeconds, aspectRatios, maxReferenceVideos, maxReferenceAudios } = model;
  const images = linksTo('image', model.images.required ? 1 : 0);
  const usual = {
    ...usualRequest(model, route, images.length > 0),
    images,
    durationSeconds: durationSeconds.default,
    aspectRatio: model.defaultAspectRatio,
    resolution: model.defaultResolution,
  };
  const prices = `usd_per_${pricing.per}`;
  // `resolutionFindings` reports resolutions that the vendor has no name for.
  const known = Object.keys(pricing.byResolution).filter((one) => !names || findVendorResolution(names, one) !== null);
  const lengths: readonly (readonly [FieldPath, number])[] =
    durationSeconds.values?.map((seconds, index) => [['durations_seconds', index], seconds] as const) ??
    (['min', 'max'] as const).map((end) => [['duration_seconds', end], durationSeconds[end]] as const);
  // A video with a first frame has the shape of the frame.
  const isShaped = images.length === 0 || usual.imagesAs === 'references';
  return [
    choicesOf(known, (resolution) => ({
      path: [...path, prices, resolution],
      name: resolution,
      request: { ...usual, resolution },
    })),
    choicesOf(isShaped ? aspectRatios : [], (aspectRatio, index) => ({
      path: [...path, 'aspect_ratios', index],
      name: aspectRatio,
      request: { ...usual, aspectRatio },
    })),
    choicesOf(uniqueLengths(lengths), ([place, seconds]) => ({
      path: [...path, ...place],
      name: `${seconds} s`,
      request: { ...usual, durationSeconds: seconds },
    })),
    ...inputDimensions(path, [
      [
        'images',
        'max',
        { ...usualRequest(model, route, true), ...pickVideo(usual), images: linksTo('image', model.images.max) },
      ],
      ['max_reference_videos', null, { ...usual, referenceVideos: linksTo('video', maxReferenceVideos ?? 0) }],
      ['max_reference_audios', null, { ...usual, referenceAudios: linksTo('audio', maxReferenceAudios ?? 0) }],
    ]),
  ];
}

function imageDimensions(path: FieldPath, model: ImageModel, route: RankedRoute): readonly Dimension[] {
  const { defaultResolution: tier, defaultAspectRatio, aspectRatios, pricing } = model;
  const backgrounds = model.choices.get('background');
  const images = linksTo('image', model.images.required ? 1 : 0);
  const usual = {
    ...usualRequest(model, route, images.length > 0),
    images,
    ...imageSizeFor(tier, defaultAspectRatio),
    ...(backgrounds && { background: backgrounds.default }),
  };
  const tiers = (['1K', '2K', '4K'] as const).filter((one) => pricing.byResolution[one] !== undefined);
  const { values = [], default: usualBackground } = backgrounds ?? {};
  const seen = values.filter((one) => one === 'transparent' || one === usualBackground);
  return [
    choicesOf(tiers, (one) => ({
      path: [...path, 'usd_per_image', one],
      name: one,
      request: { ...usual, ...imageSizeFor(one, defaultAspectRatio) },
    })),
    // `auto` is a square.
    choicesOf(
      aspectRatios.flatMap((ratio, index) => (ratio === 'auto' ? [] : [{ ratio, index }])),
      ({ ratio, index }) => ({
        path: [...path, 'aspect_ratios', index],
        name: ratio,
        request: { ...usual, ...imageSizeFor(tier, ratio) },
      }),
    ),
    choicesOf(seen, (background) => ({
      path: [...path, 'backgrounds', values.indexOf(background)],
      name: background,
      request: { ...usual, background },
    })),
    ...inputDimensions(path, [
      [
        'images',
        'max',
        {
          ...usualRequest(model, route, true),
          ...imageSizeFor(tier, defaultAspectRatio),
          images: linksTo('image', model.images.max),
        },
      ],
    ]),
  ];
}

function pickVideo({
  durationSeconds,
  aspectRatio,
  resolution,
}: Pick<RenderRequest, 'durationSeconds' | 'aspectRatio' | 'resolution'>) {
  return {
    ...(durationSeconds !== undefined && { durationSeconds }),
    ...(aspectRatio !== undefined && { aspectRatio }),
    ...(resolution !== undefined && { resolution }),
  };
}

/** A dimension for each kind of input. */
function inputDimensions(
  path: FieldPath,
  inputs: readonly (readonly [name: string, field: string | null, request: RenderRequest])[],
): readonly Dimension[] {
  return inputs.map(([name, field, request]) => ({
    choices: [{ path: [...path, name, ...(field === null ? [] : [field])], name, request }],
    mustDiffer: false,
  }));
}

function choicesOf<Value>(values: readonly Value[], choiceOf: (value: Value, index: number) => Choice): Dimension {
  return { choices: values.map(choiceOf), mustDiffer: true };
}

function uniqueLengths(lengths: readonly (readonly [FieldPath, number])[]): readonly (readonly [FieldPath, number])[] {
  return lengths.filter(([, seconds], index) => lengths.findIndex((other) => other[1] === seconds) === index);
}

function linksTo(what: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `https://example.com/${what}-${index}`);
}

/** The request to which choices are applied. All use it, so that requests differ only in the choice. */
function usualRequest({ kind }: VideoModel | ImageModel, route: RankedRoute, hasImages: boolean): RenderRequest {
  const file = { bytes: new Uint8Array(), mimeType: 'image/png', name: 'image.png' };
  return {
    kind,
    taskId: TASK_ID,
    accountId: TASK_ID,
    prompt: 'A lighthouse at dusk',
    model: (hasImages ? route.modelWithImages : undefined) ?? route.model,
    imagesAs: imageRoleOf(route, kind),
    params: route.params ?? {},
    fields: route.fields ?? {},
    changes: route,
    deadlineAt: DEADLINE,
    files: new Map(linksTo('image', MAX_IMAGES).map((link) => [link, file])),
  };
}

const TASK_ID = newId('task');
const MAX_IMAGES = 100;
