/** The media types of the files that Genway stores, by the extension of their keys. */
export const MEDIA_TYPES = {
  png: 'image/png',
  jpg: 'image/jpeg',
  webp: 'image/webp',
  mp3: 'audio/mpeg',
  wav: 'audio/wav',
  aac: 'audio/aac',
  m4a: 'audio/mp4',
  mp4: 'video/mp4',
  mov: 'video/quicktime',
} as const;

export type MediaExtension = keyof typeof MEDIA_TYPES;

/** The media type for the extension of a path, in any spelling; null for another extension. */
export function mediaTypeOf(path: string): string | null {
  const written = /\.([a-z0-9]+)$/i.exec(path)?.[1]?.toLowerCase() ?? '';
  const extension = written === 'jpeg' ? 'jpg' : written;
  return isMediaExtension(extension) ? MEDIA_TYPES[extension] : null;
}

function isMediaExtension(extension: string): extension is MediaExtension {
  return Object.hasOwn(MEDIA_TYPES, extension);
}
