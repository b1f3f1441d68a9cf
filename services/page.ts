/** Pages of rows. */

/** The start of a page, and how many rows to read. */
export interface Slice<Position = string> {
  /** Only rows after this position; undefined on the first page. */
  readonly before: Position | undefined;
  readonly limit: number;
}

/**
 * Reads one row more than the page shows, to find out whether another page follows.
 *
 * @returns the last row only if another page follows it
 */
export async function readPage<Row, Position>(
  { before, limit }: Slice<Position>,
  read: (slice: Slice<Position>) => Promise<readonly Row[]>,
): Promise<{ readonly rows: readonly Row[]; readonly last: Row | undefined }> {
  const found = await read({ before, limit: limit + 1 });
  const rows = found.slice(0, limit);
  return { rows, last: found.length > limit ? rows.at(-1) : undefined };
}
