/** Data URLs (RFC 2397) with base64, which carry images and files inside a request. */
import { badRequest } from '../domain/errors.ts';
import type { Source } from './canonical.ts';
import { readName } from './read.ts';

const DATA_URL = /^data:([^;,]+)(?:;[^;,]+)*;base64,/i;

/** A source as a URL: a link as it is, bytes as a data URL. */
export function urlOf(source: Source): string {
  return source.kind === 'url' ? source.url : `data:${source.mediaType};base64,${source.data}`;
}

/**
 * Reads a URL that may be a data URL.
 *
 * @throws ServiceError `bad_request` when it is neither a data URL with base64 nor a link over http or https
 */
export function readUrl(value: unknown, path: string): Source {
  const url = readName(value, path);
  const head = DATA_URL.exec(url);
  if (head?.[1] !== undefined) {
    return { kind: 'base64', mediaType: head[1].toLowerCase(), data: url.slice(head[0].length) };
  }
  if (/^https?:\/\//i.test(url)) return { kind: 'url', url };
  throw badRequest(`"${path}" must be an https URL or a data URL with a media type and base64`);
}
