const PAGE_SIZE = 1_000;

/**
 * All rows of a list, read page by page on demand, so that at most a page is in memory.
 *
 * @param readPage reads up to `limit` rows after `after`, or the first ones, in an order that never changes
 */
export async function* streamPages<Row>(
  readPage: (after: Row | undefined, limit: number) => Promise<readonly Row[]>,
): AsyncIterable<Row> {
  let after: Row | undefined;
  for (;;) {
    const page = await readPage(after, PAGE_SIZE);
    yield* page;
    after = page.at(-1);
    if (page.length < PAGE_SIZE) return;
  }
}
