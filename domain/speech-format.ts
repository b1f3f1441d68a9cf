/** The formats of speech. `pcm` is 16-bit little-endian mono at 24 kHz without a header. */
export const SPEECH_FORMATS = ['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'] as const;

/** The formats whose bytes tell their duration. */
export const UNCOMPRESSED_SPEECH_FORMATS = ['wav', 'pcm'] as const satisfies readonly SpeechFormat[];

export type SpeechFormat = (typeof SPEECH_FORMATS)[number];

export function isUncompressed(format: SpeechFormat): boolean {
  return UNCOMPRESSED_SPEECH_FORMATS.some((one) => one === format);
}
