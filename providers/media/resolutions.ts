/** Vendors' names of the resolutions of videos. */
import { shortEdgeOf } from '../../domain/video-size.ts';
import { JobRefusedError } from './outcomes.ts';

/** The vendor's name of each resolution of the catalogue. */
export type VendorResolutions = Readonly<Record<string, string>>;

/** The vendor's name of a resolution, also in another spelling, such as `2160p` for `4k`; null if there is none. */
export function findVendorResolution(names: VendorResolutions, resolution: string): string | null {
  const edge = shortEdgeOf(resolution);
  return Object.entries(names).find(([name]) => shortEdgeOf(name) === edge)?.[1] ?? null;
}

/** The vendor's name of the resolution of a request. @throws JobRefusedError if the vendor has none */
export function requireVendorResolution(names: VendorResolutions, resolution: string): string {
  const found = findVendorResolution(names, resolution);
  if (found !== null) return found;
  throw new JobRefusedError('bad_request', `The model renders these resolutions: ${Object.keys(names).join(', ')}.`);
}
