/** Images and files, which this format distinguishes only by media type. */
import type { JsonObject } from '../../domain/json.ts';
import type { FilePart, ImagePart, Source } from '../canonical.ts';
import { readUrl } from '../data-url.ts';
import { compact, join, optional, readName, readText } from '../read.ts';
import { readFields } from './names.ts';

/** For links without a media type. */
const MEDIA_TYPE_BY_EXTENSION: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
  gif: 'image/gif',
  heic: 'image/heic',
  pdf: 'application/pdf',
  mp4: 'video/mp4',
  mp3: 'audio/mp3',
  wav: 'audio/wav',
};

export function mediaTypeOfLink(url: string): string | undefined {
  const address = url.slice(0, url.search(/[?#]|$/));
  const extension = address.slice(address.lastIndexOf('.') + 1).toLowerCase();
  return Object.hasOwn(MEDIA_TYPE_BY_EXTENSION, extension) ? MEDIA_TYPE_BY_EXTENSION[extension] : undefined;
}

/** Reads the value of a part's `inlineData`. */
export function readInlineData(value: unknown, path: string): ImagePart | FilePart {
  const blob = readFields(value, path);
  const mediaType = readName(blob['mimeType'], join(path, 'mimeType')).toLowerCase();
  const data = readText(blob['data'], join(path, 'data'));
  return mediaPart({ kind: 'base64', mediaType, data });
}

/** Reads the value of a part's `fileData`. */
export function readFileData(value: unknown, path: string): ImagePart | FilePart {
  const file = readFields(value, path);
  const source = readUrl(file['fileUri'], join(path, 'fileUri'));
  if (source.kind === 'base64') return mediaPart(source);
  const said = optional(file['mimeType'], join(path, 'mimeType'), readName)?.toLowerCase();
  return mediaPart(compact({ ...source, mediaType: said ?? mediaTypeOfLink(source.url) }));
}

function mediaPart(source: Source): ImagePart | FilePart {
  return { type: source.mediaType?.startsWith('image/') === true ? 'image' : 'file', source };
}

/** An image is declared as one, whatever its link leads to: a video would cost hundreds of times what is held. */
export function renderMedia({ type, source }: ImagePart | FilePart): JsonObject {
  if (source.kind === 'base64') return { inlineData: { mimeType: source.mediaType, data: source.data } };
  const mediaType = source.mediaType ?? mediaTypeOfLink(source.url) ?? (type === 'image' ? 'image/jpeg' : undefined);
  return { fileData: compact({ mimeType: mediaType, fileUri: source.url }) };
}
