import { expect } from 'chai';
import * as fc from 'fast-check';
import { AddressRefusedError, assertPublicHttpsUrl } from '../../../providers/guard/public-url.ts';
import { words } from '../../support/words.ts';

const ACCEPTED = [
  'https://example.com/hook',
  'https://EXAMPLE.com/Hook',
  'HTTPS://example.com',
  'https://example.com.',
  'https://example.com:8443/a?b=c#d',
  'https://example.com?x=1',
  'https://a.b.c.example.co.uk/%20%41',
  'https://localhost.example.com/',
  'https://internal.example.com/',
  'https://127.0.0.1.example.com/',
  'https://under_score.example.com/',
  'https://xn--mnchen-3ya.de/',
  'https://münchen.de/bild.png',
  'https://例え.jp/a?@b',
  'https://8.8.8.8/',
  'https://8.8.8.8:8443/x',
  'https://[2606:4700:4700::1111]/',
  'https://example.com/a@b',
  'https://example.com/https://127.0.0.1/',
];

const linksTo = (hosts: string): string[] => words(hosts).map((host) => `https://${host}/`);

const REFUSED = [
  // Not a full https link
  '',
  'example.com',
  '//example.com/',
  '/hook',
  'http://example.com/',
  'ftp://example.com/',
  'file:///etc/passwd',
  'data:image/png;base64,AAAA',
  'javascript:alert(1)',
  'https:example.com',
  'https:/example.com',
  'https:///example.com',
  'https:\\\\example.com',
  'https://',
  'https://:443/',
  'https://example.com:99999/',
  'https://example.com:port/',
  ' https://example.com/',
  'https://example.com/a b',
  'https://exam\tple.com/',
  'https://example.com/\n',
  'https://example.com/\0',
  'https://example.com\\@127.0.0.1/',
  // Credentials
  'https://user:password@example.com/',
  'https://user@example.com/',
  'https://@example.com/',
  'https://example.com@127.0.0.1/',
  'https://ü@xn--mnchen-3ya.de/',
  'https://user:123@example.com/',
  // Names
  ...linksTo(`
    localhost LOCALHOST localhost. localhost:8443 api.localhost printer.local metadata.google.internal
    metadata.google.internal. router.home.arpa nas.lan wiki.corp localhost.localdomain redis kubernetes
  `),
  // Addresses of private networks
  ...linksTo(`
    127.0.0.1 127.0.0.1:8080 10.0.0.1 172.16.5.4 192.168.0.1 100.64.0.1 0.0.0.0 255.255.255.255 [::1] [::] [fe80::1]
    [fe80::1%25eth0] [fe80::1%eth0] [fd00::1] [::ffff:127.0.0.1] [::ffff:7f00:1] [::ffff:8.8.8.8] [::127.0.0.1]
    [::7f00:1] [64:ff9b::7f00:1] [64:ff9b::127.0.0.1] [64:ff9b:1::a00:1] [2002:7f00:1::] [2001:0:7f00:1::]
    [0:0:0:0:0:0:0:1]
  `),
  'https://169.254.169.254/latest/meta-data/',
  // Other spellings of an address, private or not
  ...linksTo(`
    2130706433 0x7f000001 0x7f.0.0.1 0X7F.1 0177.0.0.1 017700000001 127.1 127.0.1 0 127.0.0.1. 127.000.000.001
    127%2e0%2e0%2e1 %31%32%37.0.0.1 １２７.0.0.1 ①②⑦.⓪.⓪.① 127。0。0。1 134744072 010.8.8.8 8.8.2056 8.8.8.8.
    [2606:4700:4700:0:0:0:0:1111] [2606:4700:4700::1111%25eth0] 256.256.256.256 1.2.3.4.5
  `),
  // Other spellings of a name
  ...linksTo(`
    %6cocalhost ⓛⓞⓒⓐⓛⓗⓞⓢⓣ ｅｘａｍｐｌｅ.com ex%61mple.com example.com%00.internal
  `),
  'https://exam\u00adple.com/',
];

describe('the check of links', () => {
  for (const text of ACCEPTED) {
    it(`accepts ${text}`, () => expect(assertPublicHttpsUrl(text)).to.be.instanceOf(URL));
  }

  for (const text of REFUSED) {
    it(`refuses ${JSON.stringify(text)}`, () => {
      // contract 8.4:1 8.4:2
      expect(() => assertPublicHttpsUrl(text)).to.throw(AddressRefusedError);
    });
  }

  it('permits http and this machine in tests, and still no other private address', () => {
    const policy = { allowPrivateAddresses: true };
    for (const text of ['http://127.0.0.1:8090/', 'http://[::1]:80/', 'http://localhost:1/', 'https://example.com/']) {
      expect(assertPublicHttpsUrl(text, policy)).to.be.instanceOf(URL);
    }
    for (const text of ['http://10.0.0.1/', 'http://169.254.169.254/', 'http://127.1/', 'ftp://127.0.0.1/']) {
      expect(() => assertPublicHttpsUrl(text, policy), text).to.throw(AddressRefusedError);
    }
  });

  it('accepts only four decimal parts as a numeric spelling of an IPv4 address', () => {
    // contract 8.4:2
    const spellings = [
      (value: number) => String(value),
      (value: number) => `0x${value.toString(16)}`,
      (value: number) => `0${value.toString(8)}`,
      (value: number) => `${value >>> 24}.${value & 0xffffff}`,
      (value: number) => `${value >>> 24}.${(value >>> 16) & 255}.${value & 0xffff}`,
    ];
    fc.assert(
      fc.property(fc.nat(0xffffffff), fc.constantFrom(...spellings), (value, spell) => {
        expect(() => assertPublicHttpsUrl(`https://${spell(value)}/`)).to.throw(AddressRefusedError);
      }),
    );
  });

  it('turns any text into a link or a refusal', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        try {
          expect(assertPublicHttpsUrl(`https://${text}`).protocol).to.equal('https:');
        } catch (error) {
          expect(error).to.be.instanceOf(AddressRefusedError);
        }
      }),
    );
  });
});
