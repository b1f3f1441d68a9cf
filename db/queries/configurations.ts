/** Versions of the operator's files that processes loaded or refused: see `db/migrations/0010-operations.ts`. */
import type { Database } from '../database.ts';
import { camelCased, columnsOf, type RowOf } from '../row.ts';

export interface NewConfigurationRecord {
  /** The kind, host and id of the process. */
  readonly process: string;
  /** The digest of the files. */
  readonly digest: string;
  readonly catalogueVersion: string | null;
  /** Why the process refused the files; null if it loaded them. */
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
