/** Pixel sizes of videos, from their resolutions (docs/catalogue.md) and the aspect ratios of contract 4.2. */
import { type PixelSize, parseAspectRatio } from './image-size.ts';

/** Video codecs store colour in blocks of 2 by 2 pixels. */
const EDGE_MULTIPLE = 2;

/** The short edges of resolutions that have a name of their own. */
const NAMED_EDGES: Readonly<Record<string, number>> = { '2k': 1440, '4k': 2160 };

/**
 * The short edge of a video's frame, in pixels.
 *
 * @param resolution a number of pixels and `p`, or `2k` or `4k`
 * @throws RangeError when the resolution has another form
 */
export function shortEdgeOf(resolution: string): number {
  const edge = findShortEdge(resolution);
  if (edge === null) throw new RangeError(`not a video resolution such as 720p, 1080p, 2k or 4k: ${resolution}`);
  return edge;
}

export function isVideoResolution(name: string): boolean {
  return findShortEdge(name) !== null;
}

function findShortEdge(resolution: string): number | null {
  if (Object.hasOwn(NAMED_EDGES, resolution)) return NAMED_EDGES[resolution] ?? null;
  const match = /^([1-9]\d{1,3})p$/.exec(resolution);
  return match ? Number(match[1]) : null;
}

/**
 * The frame of a video. The resolution gives its short edge: `720p` is 1280 by 720 at `16:9`, and 720 by 1280 at
 * `9:16`.
 *
 * @param resolution as for {@link shortEdgeOf}
 * @param aspectRatio `W:H`
 * @throws RangeError when either has another form
 */
export function videoSizeFor(resolution: string, aspectRatio: string): PixelSize {
  const shortest = shortEdgeOf(resolution);
  const [across, down] = parseAspectRatio(aspectRatio);
  const edge = (share: number): number =>
    Math.round((shortest * share) / Math.min(across, down) / EDGE_MULTIPLE) * EDGE_MULTIPLE;
  return { width: edge(across), height: edge(down) };
}
