/** Checks whether an upstream can deliver a request. */
import { imageTierOf, type PixelSize } from '../../domain/image-size.ts';
import type { RenderRange, RenderRequest } from './adapter.ts';
import { JobRefusedError } from './outcomes.ts';

/** Passes every request on: the upstream decides. */
export const ANY_RANGE: RenderRange = {
  tiers: 'any',
  aspectRatios: 'any',
  seconds: 'any',
  transparency: true,
  pixels: 'requested',
};

/** The ratios that image models name. */
export const IMAGE_RATIOS = ['1:1', '16:9', '9:16', '4:3', '3:4', '3:2', '2:3', '5:4', '4:5', '21:9'] as const;

/** How far a size may be from the nearest ratio: beyond, the operator would pay for a shape that nobody requested. */
const RATIO_TOLERANCE = 0.03;

/** @throws JobRefusedError for a request outside the range */
export function assertInRange(request: RenderRequest, range: RenderRange): void {
  const { kind, aspectRatio, durationSeconds, width, height, background } = request;
  const { tiers, aspectRatios, seconds, transparency } = range;
  if (kind === 'image' && width !== undefined && height !== undefined) {
    assertListed('resolutions', imageTierOf({ width, height }), tiers);
    if (aspectRatios !== 'any') ratioFor({ width, height }, aspectRatios);
  }
  if (kind === 'video') assertListed('aspect ratios', aspectRatio, aspectRatios);
  if (seconds !== 'any' && durationSeconds !== undefined) {
    const { min, max } = seconds;
    if (durationSeconds < min || durationSeconds > max) throw refused(`renders ${min} to ${max} seconds`);
  }
  if (background === 'transparent' && !transparency) throw refused('has no transparent background');
}

/**
 * The ratio, such as `16:9`, that a size has.
 *
 * @throws JobRefusedError if no ratio is near
 */
export function ratioFor(size: PixelSize, ratios: readonly [string, ...string[]]): string {
  const ratio = nearestRatio(size, ratios);
  if (Math.abs(Math.expm1(distanceOf(size, ratio))) > RATIO_TOLERANCE) {
    throw refused(`renders these aspect ratios: ${ratios.join(', ')}`);
  }
  return ratio;
}

/** Returns the first of equally near ratios. */
function nearestRatio(size: PixelSize, ratios: readonly [string, ...string[]]): string {
  return ratios.reduce((nearest, ratio) => (distanceOf(size, ratio) < distanceOf(size, nearest) ? ratio : nearest));
}

function distanceOf({ width, height }: PixelSize, ratio: string): number {
  const [across = 1, down = 1] = ratio.split(':').map(Number);
  return Math.abs(Math.log((width * down) / (height * across)));
}

function assertListed(what: string, requested: string | undefined, listed: readonly string[] | 'any'): void {
  if (requested === undefined || listed === 'any' || listed.includes(requested)) return;
  throw refused(`renders these ${what}: ${listed.join(', ')}`);
}

function refused(what: string): JobRefusedError {
  return new JobRefusedError('bad_request', `The model ${what}.`);
}
