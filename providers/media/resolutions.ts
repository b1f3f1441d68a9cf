/** The words of vendors for the resolutions of videos. */
import { shortEdgeOf } from '../../domain/video-size.ts';
import { JobRefusedError } from './outcomes.ts';

/** By resolution as the catalogue writes it. */
export type ResolutionWords = Readonly<Record<string, string>>;

/** The word for a resolution, which the catalogue may write differently, such as `2160p` for `4k`; null if there is none. */
export function wordFor(words: ResolutionWords, resolution: string): string | null {
  const edge = shortEdgeOf(resolution);
  return Object.entries(words).find(([name]) => shortEdgeOf(name) === edge)?.[1] ?? null;
}

/** The word for the resolution of a request. @throws JobRefusedError for one that the vendor has no word for */
export function requiredWordFor(words: ResolutionWords, resolution: string): string {
  const word = wordFor(words, resolution);
  if (word !== null) return word;
  throw new JobRefusedError('bad_request', `The model renders these resolutions: ${Object.keys(words).join(', ')}.`);
}
