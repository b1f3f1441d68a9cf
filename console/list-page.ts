/** Lists that go on at older entries, by the id of the last one shown. Nothing is counted, so they are fast however long they are. */
import { type IdKind, isId } from '../domain/ids.ts';

/** As many entries as a page shows, and where the next page begins. */
export interface ListPage<Entry> {
  readonly entries: readonly Entry[];
  /** The cursor of the next page; null on the last one. */
  readonly next: string | null;
}

export interface Slice {
  /** Only entries older than this one. */
  readonly before: string | undefined;
  readonly limit: number;
}

/**
 * Reads the page that the query's cursor asks for, with one entry more than it shows: whether there are older ones. An invalid
 * cursor asks for the first page.
 */
export async function readListPage<Entry extends { readonly id: string }>(
  query: URLSearchParams,
  { kind, size }: { readonly kind: IdKind; readonly size: number },
  read: (slice: Slice) => Promise<readonly Entry[]>,
): Promise<ListPage<Entry>> {
  const cursor = query.get('cursor') ?? '';
  const found = await read({ before: isId(kind, cursor) ? cursor : undefined, limit: size + 1 });
  const entries = found.slice(0, size);
  return { entries, next: found.length > size ? (entries.at(-1)?.id ?? null) : null };
}
