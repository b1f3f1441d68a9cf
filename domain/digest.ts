/** Short digests of names, which stay the same in every process and version. They are not for secrets. */

const OFFSET_BASIS = [0xcbf29ce4, 0x84222325] as const;
/** The prime is 2^40 + this. */
const PRIME = 0x1b3;
const TWO_POW_32 = 2 ** 32;

/** The FNV-1a hash of a text as 16 hexadecimal digits (https://datatracker.ietf.org/doc/rfc9923/). */
export function digestOf(text: string): string {
  // Halves of 32 bits: big integers take fifty times as long, and a client chooses the length of the text.
  let [high, low]: [number, number] = [...OFFSET_BASIS];
  for (const byte of new TextEncoder().encode(text)) {
    const before = (low ^ byte) >>> 0;
    const product = before * PRIME;
    high = (high * PRIME + Math.floor(product / TWO_POW_32) + ((before << 8) >>> 0)) % TWO_POW_32;
    low = product % TWO_POW_32;
  }
  return [high, low].map((half) => half.toString(16).padStart(8, '0')).join('');
}
