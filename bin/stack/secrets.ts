/** The secrets of a local stack: generated once, then kept in its state folder. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import Joi from 'joi';
import { readPrivateFile, writePrivateFile } from './private-file.ts';

export interface Secrets {
  readonly adminToken: string;
  readonly keyPepper: string;
  readonly encryptionKey: string;
  readonly databasePassword: string;
}

const secret = Joi.string()
  .pattern(/^[0-9a-f]{64}$/)
  .required();
const schema = Joi.object<Secrets, true>({
  adminToken: secret,
  keyPepper: secret,
  encryptionKey: secret,
  databasePassword: secret,
}).required();

/**
 * Returns the secrets in the folder's `secrets.json`. Writes the file if it is missing.
 *
 * @throws Error if the file no longer contains valid secrets
 */
export async function loadSecrets(home: string): Promise<Secrets> {
  const file = join(home, 'secrets.json');
  const stored = await readPrivateFile(file);
  if (stored !== undefined) {
    const { value, error } = schema.validate(stored, { convert: false });
    // The validation error would quote a secret.
    if (error) throw new Error(`${file} no longer contains the secrets of this stack. Restore it, or remove ${home}.`);
    return value;
  }
  const secrets = {
    adminToken: newSecret(),
    keyPepper: newSecret(),
    encryptionKey: newSecret(),
    databasePassword: newSecret(),
  };
  await writePrivateFile(file, secrets);
  return secrets;
}

function newSecret(): string {
  return randomBytes(32).toString('hex');
}
