import { expect } from 'chai';
import { networkOf, subnetOf } from '../../../services/people/network.ts';

describe('services/people/network', () => {
  const CASES: readonly (readonly [ip: string, network: string])[] = [
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::'],
    ['2001:db8:1:2:ffff::1', '2001:db8:1:2::'],
    ['', ''],
    ['unknown', 'unknown'],
  ];
  for (const [ip, network] of CASES) {
    it(`counts ${ip || 'no address'} as ${network || 'none'}`, () => expect(networkOf(ip)).to.equal(network));
  }

  const SUBNETS: readonly (readonly [ip: string, subnet: string])[] = [
    ['192.0.2.7', '192.0.2.0/24'],
    ['::ffff:192.0.2.200', '192.0.2.0/24'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['', ''],
  ];
  for (const [ip, subnet] of SUBNETS) {
    it(`puts ${ip || 'no address'} into the subnet ${subnet || 'without a name'}`, () =>
      expect(subnetOf(ip)).to.equal(subnet));
  }
});
