/** Versions of the operator's files that processes took up or refused: see `db/migrations/0010-operations.ts`. */
import type { Database } from '../database.ts';
import { camelCased, columnsOf, type RowOf } from '../row.ts';

export interface NewConfigurationRecord {
  /** Its kind, host and process id. */
  readonly process: string;
  /** Tells versions of the files apart. */
  readonly digest: string;
  readonly catalogueVersion: string | null;
  /** Why it was refused; null where it was taken up. */
  readonly refusal: string | null;
}

export interface ConfigurationRecord extends NewConfigurationRecord {
  readonly createdAt: Date;
}

type ConfigurationRow = RowOf<ConfigurationRecord>;

export async function recordConfiguration(database: Database, record: NewConfigurationRecord): Promise<void> {
  await database('configurations').insert(columnsOf(record));
}

/** Newest first. */
export async function listConfigurations(database: Database, limit: number): Promise<readonly ConfigurationRecord[]> {
  const rows = await database<ConfigurationRow>('configurations').orderBy('id', 'desc').limit(limit);
  return rows.map(camelCased);
}
