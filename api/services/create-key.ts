import type { Database } from '../../db/database.ts';
import { type ApiKey, insertApiKey, type KeySettings } from '../../db/queries/api-keys.ts';
import { pepperMark } from '../../db/queries/secrets.ts';
import { newId } from '../../domain/ids.ts';
import { digestApiKey, hintOf, newApiKey } from './api-key-digest.ts';
import type { KeyPeppers } from './find-caller.ts';

/**
 * Creates a key for an account. Only the digest of the secret is stored.
 *
 * @returns the stored key, and the secret, which cannot be shown again
 */
export async function createApiKey(
  database: Database,
  [pepper]: KeyPeppers,
  accountId: string,
  settings: KeySettings,
): Promise<{ readonly key: ApiKey; readonly secret: string }> {
  const secret = newApiKey();
  const key = await insertApiKey(database, {
    id: newId('apiKey'),
    accountId,
    digest: digestApiKey(secret, pepper),
    pepperMark: pepperMark(pepper),
    hint: hintOf(secret),
    settings,
  });
  return { key, secret };
}
