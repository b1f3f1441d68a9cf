const PAGE_SIZE = 1_000;

/**
 * Streams all rows of a list page by page, with at most one page in memory.
 *
 * @param readPage reads up to `limit` rows after `after`, or the first rows, in a stable order
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
