import { expect } from 'chai';
import * as fc from 'fast-check';
import { AddressRefusedError, assertPublicHttpsUrl } from '../../../providers/guard/public-url.ts';

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
  'https://localhost/',
  'https://LOCALHOST/',
  'https://localhost./',
  'https://localhost:8443/',
  'https://api.localhost/',
  'https://printer.local/',
  'https://metadata.google.internal/',
  'https://metadata.google.internal./',
  'https://router.home.arpa/',
  'https://nas.lan/',
  'https://wiki.corp/',
  'https://localhost.localdomain/',
  'https://redis/',
  'https://kubernetes/',
  // Addresses of private networks
  'https://127.0.0.1/',
  'https://127.0.0.1:8080/',
  'https://10.0.0.1/',
  'https://172.16.5.4/',
  'https://192.168.0.1/',
  'https://169.254.169.254/latest/meta-data/',
  'https://100.64.0.1/',
  'https://0.0.0.0/',
  'https://255.255.255.255/',
  'https://[::1]/',
  'https://[::]/',
  'https://[fe80::1]/',
  'https://[fe80::1%25eth0]/',
  'https://[fe80::1%eth0]/',
  'https://[fd00::1]/',
  'https://[::ffff:127.0.0.1]/',
  'https://[::ffff:7f00:1]/',
  'https://[::ffff:8.8.8.8]/',
  'https://[::127.0.0.1]/',
  'https://[::7f00:1]/',
  'https://[64:ff9b::7f00:1]/',
  'https://[64:ff9b::127.0.0.1]/',
  'https://[64:ff9b:1::a00:1]/',
  'https://[2002:7f00:1::]/',
  'https://[2001:0:7f00:1::]/',
  'https://[0:0:0:0:0:0:0:1]/',
  // Other spellings of an address, private or not
  'https://2130706433/',
  'https://0x7f000001/',
  'https://0x7f.0.0.1/',
  'https://0X7F.1/',
  'https://0177.0.0.1/',
  'https://017700000001/',
  'https://127.1/',
  'https://127.0.1/',
  'https://0/',
  'https://127.0.0.1./',
  'https://127.000.000.001/',
  'https://127%2e0%2e0%2e1/',
  'https://%31%32%37.0.0.1/',
  'https://１２７.0.0.1/',
  'https://①②⑦.⓪.⓪.①/',
  'https://127。0。0。1/',
  'https://134744072/',
  'https://010.8.8.8/',
  'https://8.8.2056/',
  'https://8.8.8.8./',
  'https://[2606:4700:4700:0:0:0:0:1111]/',
  'https://[2606:4700:4700::1111%25eth0]/',
  'https://256.256.256.256/',
  'https://1.2.3.4.5/',
  // Other spellings of a name
  'https://%6cocalhost/',
  'https://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/',
  'https://ｅｘａｍｐｌｅ.com/',
  'https://ex%61mple.com/',
  'https://exam\u00adple.com/',
  'https://example.com%00.internal/',
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
