import { expect } from 'chai';
import { codeAt, secondFactorAddress, findTimeStep } from '../../../services/people/second-factor.ts';

/** The test vector of RFC 6238, appendix B, at second 59. */
const SECRET = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';
const [STEP, CODE, AT_MS] = [1, '287082', 59_000];

describe('a code of an authenticator app', () => {
  it('a code is the code of RFC 6238', () => {
    expect(codeAt(SECRET, STEP)).to.equal(CODE);
  });

  it('is valid in its step, one step earlier or later and with spaces, and not after that', () => {
    for (const shiftMs of [-30_000, 0, 30_000]) {
      expect(findTimeStep(SECRET, '287 082', AT_MS + shiftMs), `${shiftMs} ms`).to.equal(STEP);
    }
    expect(findTimeStep(SECRET, CODE, AT_MS + 60_000)).to.equal(null);
  });

  for (const code of ['', '1', '287083', '２８７０８２', '28708२', 'abcdef', '1e5', '-28708', '9'.repeat(100_000)]) {
    it(`is wrong if it is ${code.slice(0, 10) || 'empty'}`, () => {
      expect(findTimeStep(SECRET, code, AT_MS)).to.equal(null);
    });
  }

  it('comes from an address that authenticator apps can read', () => {
    expect(secondFactorAddress(SECRET, { issuer: 'Genway', email: 'a+b@example.com' })).to.equal(
      `otpauth://totp/Genway:a%2Bb%40example.com?issuer=Genway&secret=${SECRET}&algorithm=SHA1&digits=6&period=30`,
    );
  });
});
