/**
 * The bytes of a body while it comes. A client chooses in which pieces: one that is kept costs some hundred bytes besides its
 * own, so they are copied together, into blocks that the bodies of this process share and that are never left to be collected.
 */

const SMALLEST_BLOCK_BYTES = 4 * 1024;
/** Only blocks of this size are used again. */
const BLOCK_BYTES = 256 * 1024;
/** As much as the largest body has. */
const MAX_FREE_BLOCKS = (32 * 2 ** 20) / BLOCK_BYTES;

const freeBlocks: Buffer[] = [];

export class BodyBytes {
  /** Most bodies come in one piece. */
  #first: Buffer | null = null;
  #blocks: Buffer[] = [];
  /** How much of the last block is filled. */
  #filled = 0;
  #length = 0;

  add(piece: Buffer): void {
    this.#length += piece.byteLength;
    if (this.#first === null) this.#first = piece;
    else for (let at = 0; at < piece.byteLength;) at += this.#fill(piece.subarray(at));
  }

  /** All of them, which are held here no longer. */
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

  /** @returns how many of the bytes the last block had room for */
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

/** @param heldBytes a body that is small so far has small blocks */
function newBlock(heldBytes: number): Buffer {
  if (heldBytes >= BLOCK_BYTES) return freeBlocks.pop() ?? Buffer.allocUnsafeSlow(BLOCK_BYTES);
  return Buffer.allocUnsafe(Math.max(SMALLEST_BLOCK_BYTES, heldBytes));
}
