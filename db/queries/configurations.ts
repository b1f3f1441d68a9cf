/** Versions of the operator's files that processes loaded or refused: see `db/schema/0010-operations.sql`. */
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

/**
 * Returns why a process refused the files that a process read last; null if every process that read them uses them.
 * The newest record of a kind of process on a host counts, since a process that restarts has another id. A process that
 * stopped after a refusal counts for a day.
 */
export async function findRefusal(database: Database): Promise<{ process: string; refusal: string } | null> {
  const { rows } = await database.raw<{ rows: { process: string; refusal: string }[] }>(/* sql */ `
    SELECT process, refusal FROM (
      SELECT DISTINCT ON (split_part(process, ':', 1)) process, refusal, created_at FROM configurations
      WHERE digest = (SELECT digest FROM configurations ORDER BY id DESC LIMIT 1)
      ORDER BY split_part(process, ':', 1), id DESC) AS latest
    WHERE refusal IS NOT NULL AND created_at > now() - interval '1 day' ORDER BY process LIMIT 1`);
  return rows[0] ?? null;
}
