import { expect } from 'chai';
import { assert, property, string } from 'fast-check';
import { createSealer, SealBrokenError } from '../../db/sealing.ts';

const key = Buffer.alloc(32, 7);

describe('db/sealing', () => {
  it('opens to exactly the text that was sealed, with the same context', () => {
    const sealer = createSealer(key);
    const text = string({ unit: 'grapheme' });
    assert(property(text, text, (secret, context) => sealer.open(sealer.seal(secret, context), context) === secret));
  });

  it('never seals the same text to the same bytes, nor shows it', () => {
    const sealer = createSealer(key);
    const sealed = [sealer.seal('whsec_secret'), sealer.seal('whsec_secret')];
    expect(sealed[0]?.equals(sealed[1] ?? Buffer.alloc(0))).to.equal(false);
    expect(sealed[0]?.includes('secret')).to.equal(false);
  });

  it('notices a change of any byte', () => {
    const sealer = createSealer(key);
    const sealed = sealer.seal('secret');
    for (const index of sealed.keys()) {
      const changed = Buffer.from(sealed);
      changed[index] = (changed[index] ?? 0) ^ 1;
      expect(() => sealer.open(changed), `byte ${index}`).to.throw(SealBrokenError);
    }
  });

  for (const [what, value] of [
    ['made with another key', createSealer(Buffer.alloc(32, 8)).seal('secret', 'row')],
    ['that belongs to another row', createSealer(key).seal('secret', 'other row')],
    ['that is cut short', createSealer(key).seal('secret', 'row').subarray(0, 20)],
    ['that is empty', Buffer.alloc(0)],
  ] as const) {
    it(`does not open a value ${what}`, () => {
      expect(() => createSealer(key).open(value, 'row')).to.throw(SealBrokenError);
    });
  }

  it('opens what was sealed with a key of before, and seals it with that of today when asked to', () => {
    const before = createSealer(Buffer.alloc(32, 8));
    const sealer = createSealer(key, Buffer.alloc(32, 8));
    const sealed = before.seal('secret', 'row');
    expect(sealer.open(sealed, 'row')).to.equal('secret');
    const resealed = sealer.reseal(sealed, 'row');
    expect(resealed && createSealer(key).open(resealed, 'row')).to.equal('secret');
    expect(resealed && sealer.reseal(resealed, 'row')).to.equal(null);
    expect(() => sealer.reseal(sealed, 'other row')).to.throw(SealBrokenError);
  });

  it('refuses a key that is not 32 bytes long', () => {
    expect(() => createSealer(Buffer.alloc(31))).to.throw(RangeError, '32 bytes');
  });
});
