/** Images and files, which this format distinguishes only by media type. */
import type { JsonObject } from '../../domain/json.ts';
import type { FilePart, ImagePart, Source } from '../canonical.ts';
import { pictureOf, readUrl } from '../data-url.ts';
import { compact, described, mapped, optional, readName, readText } from '../read.ts';
import { nativeFields } from './names.ts';

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

/** The value of a part's `inlineData`. */
export const readInlineData = mapped(
  nativeFields({ mimeType: readName, data: described(readText, 'Base64') }),
  (blob) => {
    const mediaType = blob.get('mimeType').toLowerCase();
    return mediaPart({ kind: 'base64', mediaType, data: blob.get('data') });
  },
);

/** The value of a part's `fileData`. */
export const readFileData = mapped(nativeFields({ mimeType: optional(readName), fileUri: readUrl }), (file) => {
  const source = file.get('fileUri');
  if (source.kind === 'base64') return mediaPart(source);
  const mediaType = file.get('mimeType')?.toLowerCase();
  return mediaPart(compact({ ...source, mediaType: mediaType ?? mediaTypeOfLink(source.url) }));
});

function mediaPart(source: Source): ImagePart | FilePart {
  if (source.mediaType?.startsWith('image/') === true) return { type: 'image', source: pictureOf(source) };
  return { type: 'file', source };
}

/** An image is declared as one, whatever its link leads to: a video would cost hundreds of times what is held. */
export function renderMedia({ type, source }: ImagePart | FilePart): JsonObject {
  if (source.kind === 'base64') return { inlineData: { mimeType: source.mediaType, data: source.data } };
  const mediaType = source.mediaType ?? mediaTypeOfLink(source.url) ?? (type === 'image' ? 'image/jpeg' : undefined);
  return { fileData: compact({ mimeType: mediaType, fileUri: source.url }) };
}
