import { expect } from 'chai';
import { assert, property, string } from 'fast-check';
import { createEncryption, DecryptionError } from '../../db/encryption.ts';

const key = Buffer.alloc(32, 7);

describe('encryption', () => {
  it('decrypts to exactly the text that was encrypted, with the same context', () => {
    const encryption = createEncryption(key);
    const text = string({ unit: 'grapheme' });
    assert(
      property(
        text,
        text,
        (secret, context) =>
          encryption.decrypt(encryption.encrypt(secret, context), context) === secret &&
          encryption.decrypt(encryption.encryptCompact(secret, context), context) === secret,
      ),
    );
  });

  it('compresses a text of up to 64,000 characters when it encrypts the text compactly', () => {
    const encryption = createEncryption(key, Buffer.alloc(32, 8));
    const text = 'a word '.repeat(200);
    expect(encryption.encryptCompact(text)).to.have.length.below(100);
    const answer = '{"choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}]}';
    expect(encryption.encryptCompact(answer)).to.have.length.below(answer.length);
    expect(encryption.encryptCompact(text.repeat(100))).to.have.length.above(100 * text.length);
    const moved = encryption.reencrypt(createEncryption(Buffer.alloc(32, 8)).encryptCompact(text));
    expect(moved && createEncryption(key).decrypt(moved)).to.equal(text);
  });

  it('never encrypts the same text to the same bytes, nor shows it', () => {
    const encryption = createEncryption(key);
    const encrypted = [encryption.encrypt('whsec_secret'), encryption.encrypt('whsec_secret')];
    expect(encrypted[0]?.equals(encrypted[1] ?? Buffer.alloc(0))).to.equal(false);
    expect(encrypted[0]?.includes('secret')).to.equal(false);
  });

  it('detects a change of any byte', () => {
    const encryption = createEncryption(key);
    for (const encrypted of [encryption.encrypt('secret'), encryption.encryptCompact('secret')]) {
      for (const [index, byte] of encrypted.entries()) {
        for (const other of [byte ^ 1, byte ^ 3]) {
          const changed = Buffer.from(encrypted);
          changed[index] = other;
          expect(() => encryption.decrypt(changed), `byte ${index}`).to.throw(DecryptionError);
        }
      }
    }
  });

  for (const [what, value] of [
    ['made with another key', createEncryption(Buffer.alloc(32, 8)).encrypt('secret', 'row')],
    ['that belongs to another row', createEncryption(key).encrypt('secret', 'other row')],
    ['that is cut short', createEncryption(key).encrypt('secret', 'row').subarray(0, 20)],
    ['that is empty', Buffer.alloc(0)],
  ] as const) {
    it(`does not decrypt a value ${what}`, () => {
      expect(() => createEncryption(key).decrypt(value, 'row')).to.throw(DecryptionError);
    });
  }

  it('decrypts values of previous keys, and re-encrypts them with the current key', () => {
    const before = createEncryption(Buffer.alloc(32, 8));
    const encryption = createEncryption(key, Buffer.alloc(32, 8));
    const encrypted = before.encrypt('secret', 'row');
    expect(encryption.decrypt(encrypted, 'row')).to.equal('secret');
    const reencrypted = encryption.reencrypt(encrypted, 'row');
    expect(reencrypted && createEncryption(key).decrypt(reencrypted, 'row')).to.equal('secret');
    expect(reencrypted && encryption.reencrypt(reencrypted, 'row')).to.equal(null);
    expect(() => encryption.reencrypt(encrypted, 'other row')).to.throw(DecryptionError);
  });

  it('refuses a key that is not 32 bytes long', () => {
    expect(() => createEncryption(Buffer.alloc(31))).to.throw(RangeError, '32 bytes');
  });
});
