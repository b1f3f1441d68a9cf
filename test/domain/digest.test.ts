import { expect } from 'chai';
import { digestOf } from '../../domain/digest.ts';

describe('the digest of a name', () => {
  it('is the FNV-1a hash of its bytes', () => {
    // https://datatracker.ietf.org/doc/rfc9923/: test values
    expect(digestOf('')).to.equal('cbf29ce484222325');
    expect(digestOf('a')).to.equal('af63dc4c8601ec8c');
    expect(digestOf('foobar')).to.equal('85944171f73967e8');
  });
});
