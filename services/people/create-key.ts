import type { Database } from '../../db/database.ts';
import { lockRow } from '../../db/lock-row.ts';
import { recallAllowances } from '../../db/queries/allowances.ts';
import {
  type ApiKey,
  findApiKey,
  insertApiKey,
  type KeySettings,
  writeKeySettings,
} from '../../db/queries/api-keys.ts';
import { pepperMark } from '../../db/queries/secrets.ts';
import { newId } from '../../domain/ids.ts';
import { digestApiKey, hintOf, newApiKey } from './api-key-digest.ts';
import type { KeyPeppers } from './find-caller.ts';

const HOUR_MS = 3_600_000;

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

/**
 * Creates a key with the settings of another, which works until the end of `hours` at the latest. The new key counts its
 * own spending from zero. A disabled or expired key is replaced by a key that works.
 *
 * @returns null if there is no such key
 */
export async function rotateApiKey(
  database: Database,
  peppers: KeyPeppers,
  { keyId, hours, nowMs }: { readonly keyId: string; readonly hours: number; readonly nowMs: number },
): Promise<{ readonly key: ApiKey; readonly secret: string } | null> {
  const made = await database.transaction(async (transaction) => {
    await lockRow(transaction, 'api_keys', { id: keyId });
    const old = await findApiKey(transaction, keyId);
    if (!old) return null;
    const { name, usageLimit, limitPeriod, models, ipAllowlist, rateLimitRpm, expiresAt } = old;
    const isExpired = expiresAt !== null && expiresAt.getTime() <= nowMs;
    const settings = { name, usageLimit, limitPeriod, models, ipAllowlist, rateLimitRpm };
    const created = await createApiKey(transaction, peppers, old.accountId, {
      ...settings,
      expiresAt: isExpired ? null : expiresAt,
    });
    const end = new Date(nowMs + hours * HOUR_MS);
    if (expiresAt === null || expiresAt > end) await writeKeySettings(transaction, keyId, { expiresAt: end });
    return created;
  });
  if (made) await recallAllowances(database, { accountId: made.key.accountId, apiKeyId: keyId });
  return made;
}
