/** Lists that come in pages. */

/** One page of a list. `for await` over the list goes on through all pages. */
export interface Page<Item> {
  readonly data: Item[];
  /** Null on the last page. */
  readonly next_cursor: string | null;
}

/** `await` gives the first page, `for await` all items of all pages. */
export class List<Item> implements PromiseLike<Page<Item>>, AsyncIterable<Item> {
  readonly #read: (cursor: string | null) => Promise<Page<Item>>;

  constructor(read: (cursor: string | null) => Promise<Page<Item>>) {
    this.#read = read;
  }

  then<One = Page<Item>, Other = never>(
    onPage?: ((page: Page<Item>) => One | PromiseLike<One>) | null,
    onError?: ((error: unknown) => Other | PromiseLike<Other>) | null,
  ): Promise<One | Other> {
    return this.#read(null).then(onPage, onError);
  }

  async *[Symbol.asyncIterator](): AsyncIterator<Item> {
    let cursor: string | null = null;
    do {
      const page = await this.#read(cursor);
      yield* page.data;
      cursor = page.next_cursor;
    } while (cursor !== null);
  }
}
