import { expect } from 'chai';
import * as fc from 'fast-check';
import { isLoopbackAddress, isPublicAddress } from '../../../providers/guard/public-address.ts';
import { words } from '../../support/words.ts';

const PUBLIC = words(`
  1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 172.15.255.255 172.32.0.0 192.167.255.255
  223.255.255.255 2606:4700:4700::1111 2a00:1450:4001:81b::200e
`);

const NOT_PUBLIC = [
  // IPv4, RFC 6890
  ...words(`
    0.0.0.0 0.1.2.3 10.0.0.1 100.64.0.1 127.0.0.1 127.255.255.254 169.254.169.254 172.16.0.1 172.31.255.255
    192.0.0.8 192.0.2.1 192.88.99.1 192.168.1.1 198.18.0.1 198.19.255.255 198.51.100.7 203.0.113.9 224.0.0.1
    239.255.255.250 240.0.0.1 255.255.255.255
  `),
  // IPv6
  ...words(`
    :: ::1 ::2 100::1 2001::1 2001:2::1 2001:10::1 2001:20::1 2001:db8::1 3fff::1 4000::1 5f00::1 fc00::1
    fd12:3456::1 fe80::1 fec0::1 ff02::1
  `),
  // An IPv4 address inside: mapped, compatible, translated, NAT64, 6to4, Teredo
  ...words(`
    ::ffff:8.8.8.8 ::ffff:7f00:1 ::8.8.8.8 ::ffff:0:8.8.8.8 64:ff9b::8.8.8.8 64:ff9b:1::8.8.8.8 2002:808:808::1
    2001:0:4136:e378:8000:63bf:3fff:fdd2
  `),
  // Not canonical text
  '',
  ...words(`
    example.com 8.8.8 0x08.8.8.8 010.8.8.8 134744072 2606:4700::1%eth0 [2606:4700::1]
  `),
];

describe('the check of addresses', () => {
  for (const address of PUBLIC) {
    it(`treats ${address} as public`, () => expect(isPublicAddress(address)).to.equal(true));
  }

  for (const address of NOT_PUBLIC) {
    it(`does not treat ${JSON.stringify(address)} as public`, () => expect(isPublicAddress(address)).to.equal(false)); // contract 8.4:2
  }

  it('recognises the addresses of this machine', () => {
    expect(['127.0.0.1', '127.9.9.9', '::1'].filter(isLoopbackAddress)).to.have.length(3);
    expect(['127.1', '10.0.0.1', '8.8.8.8', '::', '::ffff:127.0.0.1', '::1%lo'].filter(isLoopbackAddress)).to.eql([]);
  });

  it('never treats an IPv6 address as public that has an IPv4 address in its last 32 bits under a known prefix', () => {
    const prefixes = fc.constantFrom('::', '::ffff:', '::ffff:0:', '64:ff9b::', '64:ff9b:1::');
    fc.assert(fc.property(prefixes, fc.ipV4(), (prefix, inner) => !isPublicAddress(prefix + inner)));
  });

  it('never treats an address both as public and as an address of this machine', () => {
    const addresses = fc.oneof(fc.ipV4(), fc.ipV6());
    fc.assert(fc.property(addresses, (address) => !(isPublicAddress(address) && isLoopbackAddress(address))));
  });
});
