import type { PixelSize } from '../../domain/image-size.ts';

/** The dimensions of a file in pixels, after rotation. */
export interface Content extends PixelSize {
  /** Null for images, and for fragmented videos, whose duration is spread over all fragments. */
  readonly durationSeconds: number | null;
  /** Whether the file has an alpha channel, even an unused one; null for videos. */
  readonly hasAlpha: boolean | null;
}
