/** Checks that the process has the database's secrets, and counts keys stored with earlier ones. */
import { createHmac } from 'node:crypto';
import { OperatorError } from '../../domain/operator-error.ts';
import type { Database } from '../database.ts';
import { DecryptionError, type Encryption } from '../encryption.ts';

export interface Secrets {
  readonly encryption: Encryption;
  /** The current pepper first, then previous ones. */
  readonly keyPeppers: readonly [Buffer, ...Buffer[]];
}

interface MarkRow {
  name: 'encryption_key' | 'key_pepper';
  mark: Buffer;
}

const CONTEXT = 'secret_marks';

/** Identifies a pepper without revealing anything else about it. */
export function pepperMark(pepper: Buffer): string {
  return createHmac('sha256', pepper).update('mark of a pepper').digest('hex').slice(0, 16);
}

/**
 * Records the secrets in a new database, or compares them with the recorded ones.
 *
 * @throws OperatorError if they differ
 */
export async function checkSecrets(database: Database, secrets: Secrets): Promise<void> {
  const marks = await readMarks(database);
  if (marks.size === 0) {
    await assertDecryptsEndpoint(database, secrets.encryption);
    await database<MarkRow>('secret_marks').insert(marksOf(secrets)).onConflict('name').ignore();
    return checkSecrets(database, secrets);
  }
  assertDecrypts(secrets.encryption, marks.get('encryption_key'), CONTEXT);
  const mark = marks.get('key_pepper')?.toString();
  if (!secrets.keyPeppers.some((pepper) => pepperMark(pepper) === mark)) {
    throw new OperatorError(
      'GENWAY_KEY_PEPPER is not the pepper that this database’s API keys were stored with, so none of them would work. ' +
        'Set it to that pepper, or add that pepper, behind a comma, while you replace it.',
    );
  }
}

/** Records the current secrets. Processes with only earlier secrets are refused from now on. */
export async function recordSecrets(database: Database, secrets: Secrets): Promise<void> {
  await database<MarkRow>('secret_marks').insert(marksOf(secrets)).onConflict('name').merge();
}

/** Counts the usable API keys that are not stored with the current pepper. */
export async function countKeysUnderOtherPeppers(database: Database, pepper: Buffer): Promise<number> {
  const [row] = await database('api_keys')
    .whereNull('deleted_at')
    .whereNot('pepper_mark', pepperMark(pepper))
    .count<{ count: string }[]>();
  return Number(row?.count ?? 0);
}

async function readMarks(database: Database): Promise<ReadonlyMap<MarkRow['name'], Buffer>> {
  const rows = await database<MarkRow>('secret_marks').select('name', 'mark');
  return new Map(rows.map(({ name, mark }) => [name, mark]));
}

function marksOf({ encryption, keyPeppers }: Secrets): MarkRow[] {
  return [
    { name: 'encryption_key', mark: encryption.encrypt('genway', CONTEXT) },
    { name: 'key_pepper', mark: Buffer.from(pepperMark(keyPeppers[0])) },
  ];
}

async function assertDecryptsEndpoint(database: Database, encryption: Encryption): Promise<void> {
  const row = await database<{ id: string; encrypted_secret: Buffer }>('webhook_endpoints')
    .orderBy('id', 'desc')
    .first('id', 'encrypted_secret');
  if (row) assertDecrypts(encryption, row.encrypted_secret, row.id);
}

function assertDecrypts(encryption: Encryption, encrypted: Buffer | undefined, context: string): void {
  try {
    if (encrypted) encryption.decrypt(encrypted, context);
  } catch (error) {
    if (!(error instanceof DecryptionError)) throw error;
    throw new OperatorError(
      'GENWAY_ENCRYPTION_KEY does not decrypt the secrets in this database. Set it to the key that encrypted them, ' +
        'or add that key, behind a comma, while you replace it.',
      { cause: error },
    );
  }
}
