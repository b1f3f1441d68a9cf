/** Pixel sizes and billing tiers of images: contract 4.3. */
import { greatestCommonDivisor } from './rational.ts';

/** Billing tiers, smallest first; also the values of `resolution`. */
export const IMAGE_TIERS = ['1K', '2K', '4K'] as const;
export type ImageTier = (typeof IMAGE_TIERS)[number];

/** Pixels. */
export interface PixelSize {
  readonly width: number;
  readonly height: number;
}

/** The rules for `size`. */
export const IMAGE_SIZE_LIMITS = {
  edgeMultiple: 16,
  minEdge: 16,
  maxEdge: 3_840,
  minPixels: 655_360,
  maxPixels: 8_294_400,
  maxAspectRatio: 3,
} as const;

export const IMAGE_SIZE_PATTERN = /^([1-9]\d{0,4})x([1-9]\d{0,4})$/;

/** The most pixels that a tier bills; larger sizes than 2K are billed as 4K. */
const MAX_BILLED_PIXELS = { '1K': 2_097_152, '2K': 5_898_240 } as const;

/** The most pixels of a render whose request names only a tier. */
const RENDERED_PIXELS: Readonly<Record<ImageTier, number>> = {
  '1K': 1_024 * 1_024,
  '2K': 2_048 * 2_048,
  '4K': IMAGE_SIZE_LIMITS.maxPixels,
};

/**
 * Reads `WIDTHxHEIGHT`.
 *
 * @returns the size; null when the text has another form or the size breaks one of {@link IMAGE_SIZE_LIMITS}
 */
export function parseImageSize(text: string): PixelSize | null {
  const match = IMAGE_SIZE_PATTERN.exec(text);
  if (!match) return null;
  const size = { width: Number(match[1]), height: Number(match[2]) };
  return isWithinLimits(size) ? size : null;
}

/** The tier that bills a size. */
export function imageTierOf({ width, height }: PixelSize): ImageTier {
  const pixels = width * height;
  if (pixels <= MAX_BILLED_PIXELS['1K']) return '1K';
  return pixels <= MAX_BILLED_PIXELS['2K'] ? '2K' : '4K';
}

/**
 * The pixels that a vendor with sizes of its own must render for a requested size: the vendor knows only the tier, and a
 * tier bills larger sizes than it renders.
 */
export function soldPixelsOf(size: PixelSize): number {
  return Math.min(size.width * size.height, RENDERED_PIXELS[imageTierOf(size)]);
}

/**
 * The largest size of a tier with exactly the requested aspect ratio, within {@link IMAGE_SIZE_LIMITS}.
 *
 * @param aspectRatio `W:H`, or `auto`, which renders a square frame
 * @throws RangeError when the ratio has another form or is impossible within the limits; the check of the catalogue
 *   finds such ratios
 */
export function imageSizeFor(tier: ImageTier, aspectRatio: string): PixelSize {
  const [across, down] = parseAspectRatio(aspectRatio === 'auto' ? '1:1' : aspectRatio);
  const unit = { width: across * IMAGE_SIZE_LIMITS.edgeMultiple, height: down * IMAGE_SIZE_LIMITS.edgeMultiple };
  const scale = Math.min(
    Math.floor(Math.sqrt(RENDERED_PIXELS[tier] / (unit.width * unit.height))),
    Math.floor(IMAGE_SIZE_LIMITS.maxEdge / Math.max(unit.width, unit.height)),
  );
  const size = { width: unit.width * scale, height: unit.height * scale };
  if (!isWithinLimits(size)) throw new RangeError(`aspect ratio ${aspectRatio} cannot be rendered at ${tier}`);
  return size;
}

/**
 * Reads an aspect ratio such as `21:9`.
 *
 * @returns width and height in lowest terms: `[7, 3]`
 * @throws RangeError when it is not two positive whole numbers with a colon between them
 */
export function parseAspectRatio(text: string): readonly [width: number, height: number] {
  const match = /^([1-9]\d{0,3}):([1-9]\d{0,3})$/.exec(text);
  if (!match) throw new RangeError(`not an aspect ratio: ${text}`);
  const width = Number(match[1]);
  const height = Number(match[2]);
  const divisor = greatestCommonDivisor(width, height);
  return [width / divisor, height / divisor];
}

function isWithinLimits({ width, height }: PixelSize): boolean {
  const limits = IMAGE_SIZE_LIMITS;
  const longest = Math.max(width, height);
  const shortest = Math.min(width, height);
  return (
    width % limits.edgeMultiple === 0 &&
    height % limits.edgeMultiple === 0 &&
    shortest >= limits.minEdge &&
    longest <= limits.maxEdge &&
    width * height >= limits.minPixels &&
    width * height <= limits.maxPixels &&
    longest <= shortest * limits.maxAspectRatio
  );
}
