/** The formats of speech. `pcm` is 16-bit little-endian mono at 24 kHz without a header. */
export const SPEECH_FORMATS = ['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'] as const;

/** The formats of audio in chat completions. `pcm16` is `pcm`. */
export const CHAT_AUDIO_FORMATS = ['wav', 'aac', 'mp3', 'flac', 'opus', 'pcm16'] as const;
export type ChatAudioFormat = (typeof CHAT_AUDIO_FORMATS)[number];

/** The formats whose bytes tell their duration. */
export const UNCOMPRESSED_SPEECH_FORMATS = ['wav', 'pcm'] as const satisfies readonly SpeechFormat[];

export type SpeechFormat = (typeof SPEECH_FORMATS)[number];

/** The bytes of a second of speech in the other formats, to estimate durations. */
export const COMPRESSED_BYTES_PER_SECOND = 8_000;

export function isUncompressed(format: SpeechFormat): boolean {
  return UNCOMPRESSED_SPEECH_FORMATS.some((one) => one === format);
}
