/** Re-encrypts stored secrets with the current key, so that previous keys are no longer needed. */
import type { Database } from './database.ts';
import type { Encryption } from './encryption.ts';

interface EncryptedTable {
  readonly table: string;
  readonly key: readonly string[];
  readonly columns: readonly string[];
  /** The column with the context of the encrypted values; null for values without a context. */
  readonly context: string | null;
}

/** All tables with encrypted values. */
const ENCRYPTED: readonly EncryptedTable[] = [
  {
    table: 'webhook_endpoints',
    key: ['id'],
    columns: ['encrypted_secret', 'previous_encrypted_secret'],
    context: 'id',
  },
  { table: 'users', key: ['id'], columns: ['second_factor_secret'], context: 'id' },
  // Responses to replay, which are stored for a day.
  { table: 'idempotency_keys', key: ['account_id', 'key'], columns: ['encrypted_body'], context: null },
  { table: 'stored_responses', key: ['id'], columns: ['encrypted_content'], context: 'id' },
  { table: 'realtime_secrets', key: ['id'], columns: ['encrypted_settings'], context: 'id' },
  { table: 'batch_contents', key: ['id'], columns: ['encrypted_content'], context: 'id' },
  { table: 'sent_forms', key: ['form_id'], columns: ['encrypted_answer'], context: 'form_id' },
];

/** The progress of a table. */
export interface ReencryptedTable {
  readonly table: string;
  readonly rows: number;
  /** The number of rows that were encrypted with another key. */
  readonly changed: number;
}

interface EncryptedRow {
  readonly key: readonly string[];
  readonly context: string | null;
  readonly encrypted: readonly (Buffer | null)[];
}

const PAGE_SIZE = 500;

/** Can run beside other processes, and repeatedly. @throws DecryptionError if no key decrypts a value */
export async function* reencrypt(database: Database, encryption: Encryption): AsyncIterable<ReencryptedTable> {
  for (const table of ENCRYPTED) yield* reencryptTable(database, encryption, table);
}

async function* reencryptTable(
  database: Database,
  encryption: Encryption,
  table: EncryptedTable,
): AsyncIterable<ReencryptedTable> {
  let rows = 0;
  let changed = 0;
  let after: readonly string[] = table.key.map(() => '');
  for (;;) {
    const page = await readPage(database, table, after);
    for (const row of page) {
      const reencrypted = row.encrypted.map((value) => value && encryption.reencrypt(value, row.context ?? undefined));
      if (reencrypted.every((value) => value === null)) continue;
      changed += await replace(database, table, row, reencrypted);
    }
    rows += page.length;
    after = page.at(-1)?.key ?? after;
    yield { table: table.table, rows, changed };
    if (page.length < PAGE_SIZE) return;
  }
}

async function readPage(
  database: Database,
  { table, key, columns, context }: EncryptedTable,
  after: readonly string[],
): Promise<readonly EncryptedRow[]> {
  const { rows } = await database.raw<{ rows: EncryptedRow[] }>(
    /* sql */ `
    SELECT ARRAY[${key.join(', ')}] AS key, ${context ?? 'NULL'} AS context, ARRAY[${columns.join(', ')}] AS encrypted
    FROM ${table}
    WHERE (${key.join(', ')}) > (:${key.join(', :')}) AND num_nonnulls(${columns.join(', ')}) > 0
    ORDER BY ${key.join(', ')} LIMIT :limit`,
    { ...named(key, after), limit: PAGE_SIZE },
  );
  return rows;
}

/** Updates a row, unless one of its values has changed meanwhile. @returns the number of updated rows */
async function replace(
  database: Database,
  { table, key, columns }: EncryptedTable,
  row: EncryptedRow,
  reencrypted: readonly (Buffer | null)[],
): Promise<number> {
  const stored = named(columns, row.encrypted);
  const changed = named(
    columns,
    reencrypted.map((value, index) => value ?? row.encrypted[index] ?? null),
  );
  return database(table)
    .where({ ...named(key, row.key), ...stored })
    .update(changed);
}

function named<Value>(names: readonly string[], values: readonly Value[]): Record<string, Value | null> {
  return Object.fromEntries(names.map((name, index) => [name, values[index] ?? null]));
}
