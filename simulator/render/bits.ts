/** Writes the bit strings of H.264 syntax, most significant bit first (ITU-T H.264 section 7.2 and 9.1). */
export class BitWriter {
  readonly #bytes: number[] = [];
  #pending = 0;
  #pendingBits = 0;

  /** u(n): the lowest `length` bits of `value`; at most 24 bits. */
  unsigned(value: number, length: number): this {
    for (let bit = length - 1; bit >= 0; bit--) {
      this.#pending = (this.#pending << 1) | ((value >>> bit) & 1);
      if (++this.#pendingBits === 8) this.#flushByte();
    }
    return this;
  }

  /** A code word of a table, written as in the standard: `'000101'`. */
  code(word: string): this {
    return this.unsigned(Number.parseInt(word, 2), word.length);
  }

  /** ue(v): an Exp-Golomb code for a number from 0. */
  exponentialGolomb(value: number): this {
    const length = 32 - Math.clz32(value + 1);
    return this.unsigned(0, length - 1).unsigned(value + 1, length);
  }

  /** se(v): the same for a number with a sign. */
  signedExponentialGolomb(value: number): this {
    return this.exponentialGolomb(value > 0 ? 2 * value - 1 : -2 * value);
  }

  /** Ends the payload with a one and zeros up to the next byte (`rbsp_trailing_bits`), and returns it. */
  finish(): Uint8Array {
    this.unsigned(1, 1);
    while (this.#pendingBits !== 0) this.unsigned(0, 1);
    return Uint8Array.from(this.#bytes);
  }

  #flushByte(): void {
    this.#bytes.push(this.#pending);
    this.#pending = 0;
    this.#pendingBits = 0;
  }
}
