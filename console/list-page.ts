/** Pages of lists. The cursor is the id of the last entry shown; entries are not counted, so that long lists stay fast. */
import { readPage, type Slice } from '../services/page.ts';
import { type IdKind, isId } from '../domain/ids.ts';

/** The entries of a page, and the start of the next page. */
export interface ListPage<Entry> {
  readonly entries: readonly Entry[];
  /** The cursor of the next page; null on the last one. */
  readonly next: string | null;
}

/** Reads the page that the query's cursor asks for. An invalid cursor asks for the first page. */
export async function readListPage<Entry extends { readonly id: string }>(
  query: URLSearchParams,
  kind: IdKind,
  read: (slice: Slice) => Promise<readonly Entry[]>,
  size = 50,
): Promise<ListPage<Entry>> {
  const cursor = query.get('cursor') ?? '';
  const { rows, last } = await readPage({ before: isId(kind, cursor) ? cursor : undefined, limit: size }, read);
  return { entries: rows, next: last?.id ?? null };
}
