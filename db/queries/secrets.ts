/** Whether the secrets are those with which the database was written, and what of it was written with others. */
import { createHmac } from 'node:crypto';
import { OperatorError } from '../../domain/operator-error.ts';
import type { Database } from '../database.ts';
import { SealBrokenError, type Sealer } from '../sealing.ts';

export interface Secrets {
  readonly sealer: Sealer;
  /** Of today first. */
  readonly keyPeppers: readonly [Buffer, ...Buffer[]];
}

interface MarkRow {
  name: 'encryption_key' | 'key_pepper';
  mark: Buffer;
}

const CONTEXT = 'secret_marks';

/** Tells peppers apart, and nothing more about them. */
export function pepperMark(pepper: Buffer): string {
  return createHmac('sha256', pepper).update('mark of a pepper').digest('hex').slice(0, 16);
}

/**
 * Notes the secrets of a database that has none noted yet, and compares them with those that are.
 *
 * @throws OperatorError when they are others
 */
export async function checkSecrets(database: Database, secrets: Secrets): Promise<void> {
  const marks = await readMarks(database);
  if (marks.size === 0) {
    await assertOpensEndpoint(database, secrets.sealer);
    await database<MarkRow>('secret_marks').insert(marksOf(secrets)).onConflict('name').ignore();
    return checkSecrets(database, secrets);
  }
  assertOpens(secrets.sealer, marks.get('encryption_key'), CONTEXT);
  const mark = marks.get('key_pepper')?.toString();
  if (!secrets.keyPeppers.some((pepper) => pepperMark(pepper) === mark)) {
    throw new OperatorError(
      'GENWAY_KEY_PEPPER is not the one under which the API keys of this database are stored, so that none would work. ' +
        'Set it to that one, or name that one as GENWAY_KEY_PEPPER_ALSO while you replace it.',
    );
  }
}

/** Notes the secrets of today; those of before are refused from then on, unless they are named as well. */
export async function noteSecrets(database: Database, secrets: Secrets): Promise<void> {
  await database<MarkRow>('secret_marks').insert(marksOf(secrets)).onConflict('name').merge();
}

/** How many API keys that can still be used are not stored under the pepper of today. */
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

function marksOf({ sealer, keyPeppers }: Secrets): MarkRow[] {
  return [
    { name: 'encryption_key', mark: sealer.seal('genway', CONTEXT) },
    { name: 'key_pepper', mark: Buffer.from(pepperMark(keyPeppers[0])) },
  ];
}

async function assertOpensEndpoint(database: Database, sealer: Sealer): Promise<void> {
  const row = await database<{ id: string; sealed_secret: Buffer }>('webhook_endpoints')
    .orderBy('id', 'desc')
    .first('id', 'sealed_secret');
  if (row) assertOpens(sealer, row.sealed_secret, row.id);
}

function assertOpens(sealer: Sealer, sealed: Buffer | undefined, context: string): void {
  try {
    if (sealed) sealer.open(sealed, context);
  } catch (error) {
    if (!(error instanceof SealBrokenError)) throw error;
    throw new OperatorError(
      'GENWAY_ENCRYPTION_KEY does not open what this database has sealed. Set it to the key with which that was sealed, ' +
        'or name that key as GENWAY_ENCRYPTION_KEY_ALSO while you replace it.',
      { cause: error },
    );
  }
}
