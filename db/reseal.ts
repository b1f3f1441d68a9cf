/** Re-encrypts stored secrets with the current key, so that previous keys are no longer needed. */
import type { Database } from './database.ts';
import type { Sealer } from './sealing.ts';

interface SealedTable {
  readonly table: string;
  readonly key: readonly string[];
  readonly columns: readonly string[];
  /** The column with the context of the encrypted values; null for values without a context. */
  readonly context: string | null;
}

/** All tables with encrypted values. */
const SEALED: readonly SealedTable[] = [
  {
    table: 'webhook_endpoints',
    key: ['id'],
    columns: ['sealed_secret', 'previous_sealed_secret'],
    context: 'id',
  },
  { table: 'users', key: ['id'], columns: ['second_factor_secret'], context: 'id' },
  // Responses to replay, which are stored for a day.
  { table: 'idempotency_keys', key: ['account_id', 'key'], columns: ['sealed_body'], context: null },
  { table: 'sent_forms', key: ['form_id'], columns: ['sealed_answer'], context: 'form_id' },
];

/** The progress of a table. */
export interface Resealed {
  readonly table: string;
  readonly rows: number;
  /** The number of rows that were encrypted with another key. */
  readonly changed: number;
}

interface SealedRow {
  readonly key: readonly string[];
  readonly context: string | null;
  readonly sealed: readonly (Buffer | null)[];
}

const PAGE_SIZE = 500;

/** Can run beside other processes, and repeatedly. @throws SealBrokenError if no key decrypts a value */
export async function* reseal(database: Database, sealer: Sealer): AsyncIterable<Resealed> {
  for (const table of SEALED) yield* resealTable(database, sealer, table);
}

async function* resealTable(database: Database, sealer: Sealer, table: SealedTable): AsyncIterable<Resealed> {
  let rows = 0;
  let changed = 0;
  let after: readonly string[] = table.key.map(() => '');
  for (;;) {
    const page = await readPage(database, table, after);
    for (const row of page) {
      const resealed = row.sealed.map((value) => value && sealer.reseal(value, row.context ?? undefined));
      if (resealed.every((value) => value === null)) continue;
      changed += await replace(database, table, row, resealed);
    }
    rows += page.length;
    after = page.at(-1)?.key ?? after;
    yield { table: table.table, rows, changed };
    if (page.length < PAGE_SIZE) return;
  }
}

async function readPage(
  database: Database,
  { table, key, columns, context }: SealedTable,
  after: readonly string[],
): Promise<readonly SealedRow[]> {
  const { rows } = await database.raw<{ rows: SealedRow[] }>(
    /* sql */ `
    SELECT ARRAY[${key.join(', ')}] AS key, ${context ?? 'NULL'} AS context, ARRAY[${columns.join(', ')}] AS sealed
    FROM ${table}
    WHERE (${key.join(', ')}) > (${placeholders(key)}) AND num_nonnulls(${columns.join(', ')}) > 0
    ORDER BY ${key.join(', ')} LIMIT ?`,
    [...after, PAGE_SIZE],
  );
  return rows;
}

/** Updates a row, unless one of its values has changed meanwhile. @returns the number of updated rows */
async function replace(
  database: Database,
  { table, key, columns }: SealedTable,
  row: SealedRow,
  resealed: readonly (Buffer | null)[],
): Promise<number> {
  const { rowCount } = await database.raw<{ rowCount: number }>(
    /* sql */ `
    UPDATE ${table} SET ${columns.map((column) => `${column} = coalesce(?, ${column})`).join(', ')}
    WHERE (${key.join(', ')}) = (${placeholders(key)})
      AND ${columns.map((column) => `${column} IS NOT DISTINCT FROM ?::bytea`).join(' AND ')}`,
    [...resealed, ...row.key, ...row.sealed],
  );
  return rowCount;
}

function placeholders(values: readonly unknown[]): string {
  return values.map(() => '?').join(', ');
}
