/** Checks whether a rendered file matches the request: contract 2.2. */
import { parseAspectRatio, soldPixelsOf } from '../../domain/image-size.ts';
import type { RenderInputs, RenderOrder } from '../../domain/task.ts';
import { shortEdgeOf } from '../../domain/video-size.ts';
import type { MediaFacts } from '../media-inspector.ts';

/**
 * How far a video's edge may be from the resolution. Codecs work in blocks of 16 pixels, and some encoders do not crop
 * the padding: 1080 lines become 1088.
 */
const EDGE_TOLERANCE_PIXELS = 8;
/** Rounding an edge to blocks changes the ratio by about 1 %; the ratios on sale differ by a third. */
const ASPECT_RATIO_TOLERANCE = 0.02;
/**
 * Models render whole groups of frames, and often one more: five seconds become 5.04 or 5.38. Within half a second, the
 * video still rounds to the requested and billed seconds.
 */
const DURATION_TOLERANCE_SECONDS = 0.5;

/** How far the shape of a file may be off if the model's vendor renders sizes of its own. */
const SHAPE_TOLERANCE = 0.03;
/** The share of the sold edge that a file of such a vendor needs: 1248x704 is sold as 720p, 640x360 is not. */
const MIN_EDGE_SHARE = 0.9;
/** Vendors render wider shapes with the pixels of this shape: 1504x640 is 720p at 21:9. */
const WIDEST_FULL_EDGE_RATIO = 16 / 9;

/**
 * Compares a file with the request. Skips values that the request leaves open or the file does not contain.
 *
 * @returns null if they match, or else a phrase: `asked for 1024x640, got 512x512`
 */
export function isAsRequested(
  facts: MediaFacts,
  request: RenderInputs & Pick<RenderOrder, 'resultCheck'>,
): string | null {
  return request.kind === 'image' ? imageDifference(facts, request) : videoDifference(facts, request);
}

type Request = Parameters<typeof isAsRequested>[1];

function imageDifference(facts: MediaFacts, request: Request): string | null {
  if (!facts.mimeType.startsWith('image/')) return `asked for an image, got ${facts.mimeType}`;
  const { width, height, background, resultCheck } = request;
  if (width !== undefined && height !== undefined) {
    const asked = `asked for ${width}x${height}, got ${facts.width}x${facts.height}`;
    const isExact = width === facts.width && height === facts.height;
    if (resultCheck === 'ratio') {
      const isSmall = pixelsOf(facts) < MIN_EDGE_SHARE ** 2 * soldPixelsOf({ width, height });
      if (isSmall || isStretched(facts, width / height, SHAPE_TOLERANCE)) return asked;
    } else if (resultCheck !== 'any' && !isExact) return asked;
  }
  if (background === 'transparent' && !(facts.mimeType === 'image/png' && facts.hasAlpha === true)) {
    return `asked for a PNG with alpha, got ${facts.mimeType} ${facts.hasAlpha === true ? 'with' : 'without'} alpha`;
  }
  return null;
}

function videoDifference(facts: MediaFacts, request: Request): string | null {
  // Contract 2.2: delivered videos are MP4.
  if (facts.mimeType !== 'video/mp4') return `asked for video/mp4, got ${facts.mimeType}`;
  const { resolution, aspectRatio, durationSeconds, resultCheck } = request;
  if (resultCheck === 'any') return null;
  const got = `got ${facts.width}x${facts.height}`;
  if (resolution !== undefined) {
    const edge = shortEdgeOf(resolution);
    const fits = resultCheck === 'ratio' ? hasSoldEdge(facts, edge) : hasExactEdge(facts, edge);
    if (!fits) return `asked for ${resolution}, ${got}`;
  }
  if (aspectRatio !== undefined) {
    const [across, down] = parseAspectRatio(aspectRatio);
    const tolerance = resultCheck === 'ratio' ? SHAPE_TOLERANCE : ASPECT_RATIO_TOLERANCE;
    if (isStretched(facts, across / down, tolerance)) return `asked for ${aspectRatio}, ${got}`;
  }
  if (durationSeconds !== undefined && facts.durationSeconds !== null) {
    const distance = Math.abs(facts.durationSeconds - durationSeconds);
    if (distance > DURATION_TOLERANCE_SECONDS) {
      return `asked for ${durationSeconds} seconds, got ${Number(facts.durationSeconds.toFixed(2))}`;
    }
  }
  return null;
}

function hasExactEdge({ width, height }: MediaFacts, edge: number): boolean {
  return Math.abs(Math.min(width, height) - edge) <= EDGE_TOLERANCE_PIXELS;
}

function hasSoldEdge(facts: MediaFacts, edge: number): boolean {
  const minEdge = MIN_EDGE_SHARE * edge;
  return Math.min(facts.width, facts.height) >= minEdge || pixelsOf(facts) >= minEdge ** 2 * WIDEST_FULL_EDGE_RATIO;
}

function pixelsOf({ width, height }: MediaFacts): number {
  return width * height;
}

function isStretched({ width, height }: MediaFacts, ratio: number, tolerance: number): boolean {
  return Math.abs(width / height / ratio - 1) > tolerance;
}
