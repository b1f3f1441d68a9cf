import ipaddr from 'ipaddr.js';

/** The part of an address that identifies a client: in IPv6 the first 64 bits, since a client has a /64 (RFC 6177). */
export function networkOf(ip: string): string {
  if (!ipaddr.isValid(ip)) return ip;
  const address = ipaddr.process(ip);
  if (address.kind() === 'ipv4') return address.toString();
  return ipaddr.fromByteArray([...address.toByteArray().slice(0, 8), 0, 0, 0, 0, 0, 0, 0, 0]).toString();
}

/** The network whose clients share limits, in CIDR notation: a /24 of IPv4, which one customer may rent, and a /64 of IPv6. */
export function subnetOf(ip: string): string {
  if (!ipaddr.isValid(ip)) return ip;
  const address = ipaddr.process(ip);
  if (address.kind() === 'ipv6') return `${networkOf(ip)}/64`;
  return `${address.toByteArray().slice(0, 3).join('.')}.0/24`;
}
