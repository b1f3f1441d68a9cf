/** Words of media upstreams for the states of jobs that Genway does not know: see `db/schema/0010-operations.sql`. */
import type { Database } from '../database.ts';
import { camelCased, type RowOf } from '../row.ts';

export interface UnknownWord {
  readonly upstream: string;
  /** Genway's name for the model. */
  readonly model: string;
  readonly word: string;
}

export async function recordUnknownWord(database: Database, found: UnknownWord): Promise<void> {
  await database('unknown_words')
    .insert({ ...found, seen_at: database.fn.now() })
    .onConflict(['upstream', 'model'])
    .merge();
}

/** Lists the words that were seen within the last hour. */
export async function listUnknownWords(database: Database): Promise<readonly UnknownWord[]> {
  const rows = await database<RowOf<UnknownWord>>('unknown_words')
    .select('upstream', 'model', 'word')
    .whereRaw(`seen_at > now() - interval '1 hour'`)
    .orderBy(['upstream', 'model']);
  return rows.map(camelCased);
}
