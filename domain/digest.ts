/** Short digests of names, which stay the same in every process and version. They are not for secrets. */

const PRIME = 0x100000001b3n;
const OFFSET_BASIS = 0xcbf29ce484222325n;

/** The FNV-1a hash of a text as 16 hexadecimal digits (https://datatracker.ietf.org/doc/rfc9923/). */
export function digestOf(text: string): string {
  let hash = OFFSET_BASIS;
  for (const byte of new TextEncoder().encode(text)) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * PRIME);
  return hash.toString(16).padStart(16, '0');
}
