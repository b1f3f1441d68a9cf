/**
 * Encrypts values that the database must not reveal: endpoint secrets and stored responses. AES-256-GCM detects changed
 * and swapped values. An encrypted value is a version byte, a 12-byte nonce, the ciphertext and a 16-byte tag. The version
 * says whether the text was compressed before its encryption:
 * https://csrc.nist.gov/pubs/sp/800/38/d/final
 */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { COMPACT_DICTIONARY } from './compact-dictionary.ts';

const ALGORITHM = 'aes-256-gcm';
const PLAIN = 1;
const COMPRESSED = 2;
/** Compressing a longer text would block the process for milliseconds. */
const MAX_COMPRESSED_LENGTH = 64 * 1024;
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const HEADER_BYTES = 1 + NONCE_BYTES;
const COMPRESSION = { dictionary: COMPACT_DICTIONARY };
const OPTIONS = { authTagLength: TAG_BYTES };

export interface Encryption {
  /**
   * Encrypts a text with a new nonce.
   *
   * @param context identifies the owner of the text, such as a row's id. Decryption requires the same context, so that
   *   a value copied to another row cannot be decrypted
   */
  encrypt(text: string, context?: string): Buffer;
  /** As {@link Encryption.encrypt}, for texts of which there are many: those up to 64,000 characters are compressed. */
  encryptCompact(text: string, context?: string): Buffer;
  /**
   * Decrypts the result of {@link Encryption.encrypt} or {@link Encryption.encryptCompact}.
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
  const encryptBytes = (bytes: Uint8Array, version: number, context: string): Buffer => {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(ALGORITHM, encryptionKey, nonce, OPTIONS).setAAD(authenticated(version, context));
    const ciphertext = Buffer.concat([cipher.update(bytes), cipher.final()]);
    return Buffer.concat([Buffer.of(version), nonce, ciphertext, cipher.getAuthTag()]);
  };
  const decryptBytes = (encrypted: Uint8Array, context: string): Buffer => {
    const [version] = encrypted;
    const isKnown = version === PLAIN || version === COMPRESSED;
    if (encrypted.byteLength < HEADER_BYTES + TAG_BYTES || !isKnown) {
      throw new DecryptionError('not an encrypted value of a known version');
    }
    for (const key of [encryptionKey, ...others]) {
      const bytes = decryptWith(key, encrypted, context);
      if (bytes !== null) return bytes;
    }
    throw new DecryptionError('an encrypted value cannot be decrypted: it has another encryption key, or was changed');
  };
  return {
    encrypt: (text, context = '') => encryptBytes(Buffer.from(text), PLAIN, context),
    encryptCompact: (text, context = '') =>
      text.length > MAX_COMPRESSED_LENGTH
        ? encryptBytes(Buffer.from(text), PLAIN, context)
        : encryptBytes(deflateRawSync(text, COMPRESSION), COMPRESSED, context),
    decrypt: (encrypted, context = '') => {
      const bytes = decryptBytes(encrypted, context);
      return (encrypted[0] === COMPRESSED ? inflateRawSync(bytes, COMPRESSION) : bytes).toString('utf8');
    },
    reencrypt: (encrypted, context = '') => {
      const bytes = decryptBytes(encrypted, context);
      const isCurrent = decryptWith(encryptionKey, encrypted, context) !== null;
      return isCurrent ? null : encryptBytes(bytes, encrypted[0] ?? PLAIN, context);
    },
  };
}

/** @returns null if the value has another key or context, or was changed */
function decryptWith(key: Uint8Array, encrypted: Uint8Array, context: string): Buffer | null {
  const nonce = encrypted.subarray(1, HEADER_BYTES);
  const ciphertext = encrypted.subarray(HEADER_BYTES, -TAG_BYTES);
  const decipher = createDecipheriv(ALGORITHM, key, nonce, OPTIONS);
  decipher.setAAD(authenticated(encrypted[0] ?? PLAIN, context));
  decipher.setAuthTag(encrypted.subarray(-TAG_BYTES));
  try {
    return Buffer.concat([decipher.update(ciphertext), decipher.final()]);
  } catch {
    return null;
  }
}

/** The authenticated data besides the ciphertext: the version and the context. */
function authenticated(version: number, context: string): Buffer {
  return Buffer.concat([Buffer.of(version), Buffer.from(context)]);
}
