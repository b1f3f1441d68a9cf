/** Vendors' words for the resolutions of videos. */
import { shortEdgeOf } from '../../domain/video-size.ts';
import { JobRefusedError } from './outcomes.ts';

/** The vendor's word for each resolution of the catalogue. */
export type VendorResolutions = Readonly<Record<string, string>>;

/** The vendor's word for a resolution, also in another spelling, such as `2160p` for `4k`; null if there is none. */
export function findVendorResolution(words: VendorResolutions, resolution: string): string | null {
  const edge = shortEdgeOf(resolution);
  return Object.entries(words).find(([name]) => shortEdgeOf(name) === edge)?.[1] ?? null;
}

/** The vendor's word for the resolution of a request. @throws JobRefusedError if the vendor has none */
export function requireVendorResolution(words: VendorResolutions, resolution: string): string {
  const word = findVendorResolution(words, resolution);
  if (word !== null) return word;
  throw new JobRefusedError('bad_request', `The model renders these resolutions: ${Object.keys(words).join(', ')}.`);
}
