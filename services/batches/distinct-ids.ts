import { createHash } from 'node:crypto';

/** The ids of a batch's requests. Keeps their digests, which bounds the memory: ids may be long. */
export class DistinctIds {
  readonly #digests = new Set<string>();

  /** @returns false if the id was added before */
  add(id: string): boolean {
    const { size } = this.#digests;
    return this.#digests.add(createHash('sha256').update(id).digest('base64')).size > size;
  }
}
