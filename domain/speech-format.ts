/** The formats of speech. `pcm` is 16-bit little-endian mono at 24 kHz without a header. */
export const SPEECH_FORMATS = ['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'] as const;

export type SpeechFormat = (typeof SPEECH_FORMATS)[number];
