/** Pixel sizes of videos, from the resolutions and aspect ratios of contract 4.2. */
import { type PixelSize, parseAspectRatio } from './image-size.ts';

/** Video codecs store colour in blocks of 2 by 2 pixels. */
const EDGE_MULTIPLE = 2;

/**
 * The frame of a video. The resolution gives its short edge: `720p` is 1280 by 720 at `16:9`, and 720 by 1280 at
 * `9:16`.
 *
 * @param resolution a number of pixels and `p`
 * @param aspectRatio `W:H`
 * @throws RangeError when either is written differently
 */
export function videoSizeFor(resolution: string, aspectRatio: string): PixelSize {
  const match = /^([1-9]\d{1,3})p$/.exec(resolution);
  if (!match) throw new RangeError(`not a video resolution: ${resolution}`);
  const shortest = Number(match[1]);
  const [across, down] = parseAspectRatio(aspectRatio);
  const edge = (share: number): number =>
    Math.round((shortest * share) / Math.min(across, down) / EDGE_MULTIPLE) * EDGE_MULTIPLE;
  return { width: edge(across), height: edge(down) };
}
