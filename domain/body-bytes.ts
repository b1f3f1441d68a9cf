/**
 * Collects the bytes of an incoming body. Clients choose the size of its pieces, and each piece costs about a hundred
 * bytes besides its content, so pieces are copied into blocks, which the process reuses without garbage collection.
 */

const MIN_BLOCK_BYTES = 4 * 1024;
/** The process reuses only blocks of this size. */
const BLOCK_BYTES = 256 * 1024;
/** Enough for the largest body. */
const MAX_FREE_BLOCKS = (32 * 2 ** 20) / BLOCK_BYTES;

const freeBlocks: Buffer[] = [];

/** The same bytes as a `Buffer`, without copying. */
export function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

export class BodyBytes {
  /** Kept without copying: most bodies arrive in one piece. */
  #first: Buffer | null = null;
  #blocks: Buffer[] = [];
  /** The filled part of the last block. */
  #filled = 0;
  #length = 0;

  add(piece: Buffer): void {
    this.#length += piece.byteLength;
    if (this.#first === null) this.#first = piece;
    else for (let at = 0; at < piece.byteLength;) at += this.#fill(piece.subarray(at));
  }

  /** Returns all bytes and releases them. */
  take(): Buffer {
    const first = this.#first ?? Buffer.alloc(0);
    const bytes = this.#blocks.length === 0 ? first : Buffer.concat([first, ...this.#blocks], this.#length);
    this.drop();
    return bytes;
  }

  drop(): void {
    this.#first = null;
    for (const block of this.#blocks) {
      if (block.byteLength === BLOCK_BYTES && freeBlocks.length < MAX_FREE_BLOCKS) freeBlocks.push(block);
    }
    this.#blocks = [];
  }

  /** @returns the number of bytes that fitted into the last block */
  #fill(bytes: Buffer): number {
    let block = this.#blocks.at(-1);
    if (block === undefined || this.#filled === block.byteLength) {
      block = newBlock(this.#length);
      this.#blocks.push(block);
      this.#filled = 0;
    }
    const copied = bytes.copy(block, this.#filled);
    this.#filled += copied;
    return copied;
  }
}

/** @param heldBytes the body's size so far: small bodies get small blocks */
function newBlock(heldBytes: number): Buffer {
  if (heldBytes >= BLOCK_BYTES) return freeBlocks.pop() ?? Buffer.allocUnsafeSlow(BLOCK_BYTES);
  return Buffer.allocUnsafe(Math.max(MIN_BLOCK_BYTES, heldBytes));
}
