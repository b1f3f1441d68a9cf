/** Base64 data URLs (RFC 2397), which carry images and files inside a request. */
import { badRequest } from '../domain/errors.ts';
import type { Source } from './canonical.ts';
import { described, reader, type Reader, readText } from './read.ts';

/** The name of a file without one: OpenAI's formats require a name with the bytes of a file. */
export const DEFAULT_FILENAME = 'file';

/** For the media type and its parameters; no known type is longer. */
const MAXIMUM_HEAD_LENGTH = 1_024;

/** A source as a URL: a link unchanged, bytes as a data URL. */
export function urlOf(source: Source): string {
  return source.kind === 'url' ? source.url : `data:${source.mediaType};base64,${source.data}`;
}

/** The beginnings of pictures in base64; the size of a WebP file stands in the middle of its mark. */
const PICTURES: readonly (readonly [beginning: RegExp, mediaType: string])[] = [
  [/^iVBORw0KGgo/, 'image/png'],
  [/^\/9j\//, 'image/jpeg'],
  [/^R0lGOD/, 'image/gif'],
  [/^UklGR.{6}XRUJQ/, 'image/webp'],
];

/** The picture with the media type of its bytes: clients take the type from a file's name, and vendors refuse a wrong one. */
export function pictureOf(source: Source): Source {
  if (source.kind === 'url') return source;
  const found = PICTURES.find(([beginning]) => beginning.test(source.data));
  const [, mediaType = source.mediaType === 'image/jpg' ? 'image/jpeg' : source.mediaType] = found ?? [];
  return { ...source, mediaType };
}

/** The source at a URL; null if the URL is neither a link nor a data URL in base64. */
export function sourceOf(url: string): Source | null {
  const head = url.slice(0, MAXIMUM_HEAD_LENGTH).split(',', 1)[0]?.toLowerCase() ?? '';
  const [mediaType, ...parameters] = head.slice('data:'.length).split(';');
  if (head.startsWith('data:') && mediaType && parameters.at(-1) === 'base64' && url.charAt(head.length) === ',') {
    return { kind: 'base64', mediaType, data: url.slice(head.length + 1) };
  }
  return /^https?:\/\//i.test(url) ? { kind: 'url', url } : null;
}

/** A URL that may be a data URL: a link, or a media type and bytes in base64. */
export const readUrl: Reader<Source> = reader(
  described(readText, 'An https URL, or a data URL with a media type and base64').schema,
  (value, path) => {
    const source = sourceOf(readText(value, path));
    if (source !== null) return source;
    throw badRequest(`"${path}" must be an https URL, or a base64 data URL with a media type`);
  },
);

const TEXT_TYPE =
  /^text\/|^application\/(?:json|jsonl|x-ndjson|xml|csv|yaml|x-yaml|toml|sql|javascript|x-sh)(?:;|$)|\+(?:json|xml|yaml)(?:;|$)/;

/** The text of a file whose media type says that it is one; null for other files, and for links. */
export function textOfFile(source: Source): string | null {
  if (source.kind === 'url' || !TEXT_TYPE.test(source.mediaType)) return null;
  return Buffer.from(source.data, 'base64').toString();
}
