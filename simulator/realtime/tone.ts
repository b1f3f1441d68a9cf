/** Audio in PCM: 16 bits, little-endian, one channel, 24,000 samples a second. */

const SAMPLES_PER_MS = 24;
const HERTZ = 440;
const AMPLITUDE = 8_000;

/** How long the audio plays. */
export function millisecondsOf(pcm: Buffer): number {
  return pcm.length / 2 / SAMPLES_PER_MS;
}

/** A tone in base64. */
export function tone(ms: number): string {
  const pcm = Buffer.alloc(ms * SAMPLES_PER_MS * 2);
  for (let sample = 0; sample < ms * SAMPLES_PER_MS; sample += 1) {
    const seconds = sample / (SAMPLES_PER_MS * 1000);
    pcm.writeInt16LE(Math.round(AMPLITUDE * Math.sin(2 * Math.PI * HERTZ * seconds)), sample * 2);
  }
  return pcm.toString('base64');
}
