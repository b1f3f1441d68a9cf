import { expect } from 'chai';
import * as fc from 'fast-check';
import { domainOf, isDomainIn, normalAddress } from '../../domain/normal-address.ts';

const DOMAINS = [
  'gmail.com',
  'googlemail.com',
  'outlook.com',
  'icloud.com',
  'proton.me',
  'fastmail.com',
  'anna.fastmail.com',
  'yahoo.com',
  'yandex.ru',
  'acme.example',
];
const addresses = fc
  .tuple(fc.stringMatching(/^[\w.!#$%&'*+/=?^`{|}~-]{1,20}$/), fc.constantFrom(...DOMAINS))
  .map(([name, domain]) => `${name}@${domain}`);
const names = fc.stringMatching(/^[a-z][a-z0-9]{1,19}$/);
const tags = fc.stringMatching(/^[a-z0-9.]{0,10}$/);

describe('domain/normal-address', () => {
  const CASES: readonly (readonly [address: string, normal: string])[] = [
    ['A.N.Na+1@GoogleMail.com', 'anna@gmail.com'],
    ['Anna+news@outlook.com', 'anna@outlook.com'],
    ['an.na@outlook.com', 'an.na@outlook.com'],
    ['anna+a@me.com', 'anna@icloud.com'],
    ['an-na_x.y+a@pm.me', 'annaxy@proton.me'],
    ['shop+a@anna.fastmail.com', 'anna@fastmail.com'],
    ['anna+a@fastmail.fm', 'anna@fastmail.fm'],
    ['anna-shop@yahoo.com', 'anna@yahoo.com'],
    ['an-na+a@acme.example', 'an-na@acme.example'],
    ['...+a@gmail.com', '...+a@gmail.com'],
    ['anna@notgmail.com', 'anna@notgmail.com'],
  ];
  for (const [address, normal] of CASES) {
    it(`reads ${address} as ${normal}`, () => expect(normalAddress(address)).to.equal(normal));
  }

  it('returns a normal address unchanged', () => {
    fc.assert(
      fc.property(addresses, (address) => {
        const normal = normalAddress(address);
        expect(normalAddress(normal)).to.equal(normal);
      }),
    );
  });

  it('never returns an address without a name or a domain', () => {
    fc.assert(
      fc.property(addresses, (address) => {
        expect(normalAddress(address)).to.match(/^[^@]+@[^@]+\.[a-z]+$/);
      }),
    );
  });

  it('returns one address for all cases, tags and dots of a mailbox of Gmail', () => {
    const spellings = fc.tuple(names, tags, fc.array(fc.nat(18)), fc.boolean());
    fc.assert(
      fc.property(spellings, ([name, tag, dots, isUpper]) => {
        const dotted = Array.from(name)
          .map((letter, index) => (dots.includes(index) ? `${letter}.` : letter))
          .join('');
        const spelling = `${dotted}+${tag}@googlemail.com`;
        expect(normalAddress(isUpper ? spelling.toUpperCase() : spelling)).to.equal(`${name}@gmail.com`);
      }),
    );
  });

  it('keeps different names of one provider apart', () => {
    fc.assert(
      fc.property(names, names, fc.constantFrom(...DOMAINS.slice(0, 6)), (one, other, domain) => {
        fc.pre(one !== other);
        expect(normalAddress(`${one}@${domain}`)).not.to.equal(normalAddress(`${other}@${domain}`));
      }),
    );
  });

  it('finds a domain in a list by the domain itself and by its parents, not by a part of a label', () => {
    const listed = new Set(['mailinator.com']);
    expect(isDomainIn(domainOf('a@Mailinator.com'), listed)).to.equal(true);
    expect(isDomainIn('a.b.mailinator.com', listed)).to.equal(true);
    expect(isDomainIn('notmailinator.com', listed)).to.equal(false);
    expect(isDomainIn('mailinator.com.example', listed)).to.equal(false);
  });
});
