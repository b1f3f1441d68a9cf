/**
 * Encrypts values that the database must not reveal: endpoint secrets and stored responses. AES-256-GCM detects changed
 * and swapped values. An encrypted value is a version byte, a 12-byte nonce, the ciphertext and a 16-byte tag:
 * https://csrc.nist.gov/pubs/sp/800/38/d/final
 */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

const ALGORITHM = 'aes-256-gcm';
const VERSION = 1;
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const HEADER_BYTES = 1 + NONCE_BYTES;
const OPTIONS = { authTagLength: TAG_BYTES };

export interface Encryption {
  /**
   * Encrypts a text with a new nonce.
   *
   * @param context identifies the owner of the text, such as a row's id. Decryption requires the same context, so that
   *   a value copied to another row cannot be decrypted
   */
  encrypt(text: string, context?: string): Buffer;
  /**
   * Decrypts the result of {@link Encryption.encrypt}.
   *
   * @throws DecryptionError if the value has another key or context, was changed, or is not an encrypted value
   */
  decrypt(encrypted: Uint8Array, context?: string): string;
  /**
   * Re-encrypts a value with the current key.
   *
   * @returns null if the value already has the current key
   * @throws DecryptionError
   */
  reencrypt(encrypted: Uint8Array, context?: string): Buffer | null;
}

/** A value cannot be decrypted. The message contains no part of the value. */
export class DecryptionError extends Error {
  override readonly name = 'DecryptionError';
}

/**
 * @param encryptionKey the current key, 32 bytes
 * @param others previous keys, with which stored values may be encrypted
 * @throws RangeError for a key of another length
 */
export function createEncryption(encryptionKey: Uint8Array, ...others: readonly Uint8Array[]): Encryption {
  for (const { byteLength } of [encryptionKey, ...others]) {
    if (byteLength !== KEY_BYTES) throw new RangeError(`an encryption key has ${KEY_BYTES} bytes, not ${byteLength}`);
  }
  const encrypt: Encryption['encrypt'] = (text, context = '') => {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(ALGORITHM, encryptionKey, nonce, OPTIONS).setAAD(authenticated(context));
    const ciphertext = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    return Buffer.concat([Buffer.of(VERSION), nonce, ciphertext, cipher.getAuthTag()]);
  };
  const decrypt: Encryption['decrypt'] = (encrypted, context = '') => {
    if (encrypted.byteLength < HEADER_BYTES + TAG_BYTES || encrypted[0] !== VERSION) {
      throw new DecryptionError('not an encrypted value of a known version');
    }
    for (const key of [encryptionKey, ...others]) {
      const text = decryptWith(key, encrypted, context);
      if (text !== null) return text;
    }
    throw new DecryptionError('an encrypted value cannot be decrypted: it has another encryption key, or was changed');
  };
  return {
    encrypt,
    decrypt,
    reencrypt: (encrypted, context = '') => {
      const text = decrypt(encrypted, context);
      return decryptWith(encryptionKey, encrypted, context) === null ? encrypt(text, context) : null;
    },
  };
}

/** @returns null if the value has another key or context, or was changed */
function decryptWith(key: Uint8Array, encrypted: Uint8Array, context: string): string | null {
  const nonce = encrypted.subarray(1, HEADER_BYTES);
  const ciphertext = encrypted.subarray(HEADER_BYTES, -TAG_BYTES);
  const decipher = createDecipheriv(ALGORITHM, key, nonce, OPTIONS).setAAD(authenticated(context));
  decipher.setAuthTag(encrypted.subarray(-TAG_BYTES));
  try {
    return Buffer.concat([decipher.update(ciphertext), decipher.final()]).toString('utf8');
  } catch {
    return null;
  }
}

/** The authenticated data besides the ciphertext: the version and the context. */
function authenticated(context: string): Buffer {
  return Buffer.concat([Buffer.of(VERSION), Buffer.from(context)]);
}
