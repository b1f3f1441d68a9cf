/** Queries of benchmarks on the database of their stack. */
import { waitUntil } from '../../../bin/stack/wait-until.ts';
import type { Database } from '../../../db/database.ts';

const TIMEOUT_MS = 180_000;

/** Resolves when every task has ended. @throws Error when some have not in time */
export async function whenAllFinal(database: Database): Promise<void> {
  await waitUntil(
    async () => {
      const [left] = await database('tasks').whereIn('status', ['queued', 'processing']).count('* as running');
      if (Number(left?.['running']) > 0) throw new Error('some tasks have not ended in time');
    },
    { timeoutMs: TIMEOUT_MS, pauseMs: 250 },
  );
}

/** The bytes of some tables, with indexes. */
export async function bytesOf(database: Database, tables: readonly string[]): Promise<number> {
  const { rows } = await database.raw<{ rows: { bytes: string }[] }>(
    /* sql */ `
    SELECT sum(pg_total_relation_size(part.relid)) AS bytes
    FROM unnest(CAST(:tables AS regclass[])) AS whole, pg_partition_tree(whole) AS part WHERE part.isleaf`,
    { tables: [...tables] },
  );
  return Number(rows[0]?.bytes);
}
