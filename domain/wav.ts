/** Uncompressed audio: 16-bit samples, and the header that makes a WAV file of them. */

export interface Pcm {
  readonly samplesPerSecond: number;
  readonly channels: number;
}

const BYTES_PER_SAMPLE = 2;
const HEADER_BYTES = 44;
/** The length of a file whose end is not known, as OpenAI and ffmpeg write it. */
const UNKNOWN_LENGTH = 0xffff_ffff;

export function bytesPerSecond({ samplesPerSecond, channels }: Pcm): number {
  return samplesPerSecond * channels * BYTES_PER_SAMPLE;
}

/** The header of a WAV file (RIFF). @param dataBytes null if the samples follow while they are made */
export function wavHeader(pcm: Pcm, dataBytes: number | null = null): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.write('RIFF', 0);
  header.writeUInt32LE(dataBytes === null ? UNKNOWN_LENGTH : dataBytes + HEADER_BYTES - 8, 4);
  header.write('WAVEfmt ', 8);
  header.writeUInt32LE(16, 16);
  // Uncompressed.
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(pcm.channels, 22);
  header.writeUInt32LE(pcm.samplesPerSecond, 24);
  header.writeUInt32LE(bytesPerSecond(pcm), 28);
  header.writeUInt16LE(pcm.channels * BYTES_PER_SAMPLE, 32);
  header.writeUInt16LE(8 * BYTES_PER_SAMPLE, 34);
  header.write('data', 36);
  header.writeUInt32LE(dataBytes ?? UNKNOWN_LENGTH, 40);
  return header;
}

/** `pcm` of OpenAI's API. */
export const USUAL_PCM: Pcm = { samplesPerSecond: 24_000, channels: 1 };

const RATE_AT = 24;
const CHANNELS_AT = 22;
const FORMAT_BYTES = 28;
const MAX_SAMPLES_PER_SECOND = 192_000;

/** The samples that a WAV file announces; the usual ones if they are not plausible. */
export function pcmOfWav(head: Buffer): Pcm {
  if (head.byteLength < FORMAT_BYTES || head.toString('latin1', 12, 16) !== 'fmt ') return USUAL_PCM;
  return plausible({ samplesPerSecond: head.readUInt32LE(RATE_AT), channels: head.readUInt16LE(CHANNELS_AT) });
}

/** The samples of a media type such as `audio/L16;codec=pcm;rate=24000`. */
export function pcmOfType(mediaType: string): Pcm {
  const rate = /;\s*rate=(\d{1,6})\b/.exec(mediaType)?.[1];
  return plausible({ samplesPerSecond: rate === undefined ? USUAL_PCM.samplesPerSecond : Number(rate), channels: 1 });
}

function plausible(pcm: Pcm): Pcm {
  const { samplesPerSecond, channels } = pcm;
  const isPlausible = samplesPerSecond >= 8_000 && samplesPerSecond <= MAX_SAMPLES_PER_SECOND;
  return isPlausible && (channels === 1 || channels === 2) ? pcm : USUAL_PCM;
}
