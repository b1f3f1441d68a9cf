import type { PixelSize } from '../../domain/image-size.ts';

/** The dimensions of a file in pixels, after rotation. */
export interface Content extends PixelSize {
  /** Null for images, and for fragmented videos, whose duration only all fragments together show. */
  readonly durationSeconds: number | null;
  /** Whether there is an alpha channel, whether or not it is used; null for videos. */
  readonly hasAlpha: boolean | null;
}
