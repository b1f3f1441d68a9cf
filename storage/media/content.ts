import type { PixelSize } from '../../domain/image-size.ts';

/** What a file shows: in pixels, after rotation. */
export interface Content extends PixelSize {
  /** Null for images, and for fragmented videos: only all their fragments together say it. */
  readonly durationSeconds: number | null;
  /** Whether there is an alpha channel, used or not; null for videos. */
  readonly hasAlpha: boolean | null;
}
