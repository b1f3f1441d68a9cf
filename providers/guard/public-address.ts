/** Decides which IP addresses belong to the public internet, without I/O. */
import ipaddr from 'ipaddr.js';

/** The block that holds every public IPv6 address (RFC 4291, and the IANA registry of global unicast assignments). */
const GLOBAL_UNICAST_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3');

/**
 * Whether `address` is public unicast, that is, in none of the special-purpose blocks of RFC 6890 and its successors
 * (loopback, private, link-local, carrier-grade NAT, documentation, multicast, …). IPv6 addresses that contain an IPv4
 * address (mapped, compatible, NAT64, 6to4, Teredo) never count as public, because their target depends on the network.
 *
 * @param address in the canonical notation of resolvers and sockets; any other notation, or a zone id, is not public
 */
export function isPublicAddress(address: string): boolean {
  if (ipaddr.IPv4.isValidFourPartDecimal(address)) return ipaddr.IPv4.parse(address).range() === 'unicast';
  if (!isPlainIPv6(address)) return false;
  const parsed = ipaddr.IPv6.parse(address);
  return parsed.match(GLOBAL_UNICAST_IPV6) && parsed.range() === 'unicast';
}

/** Whether `address`, in canonical notation, is `::1` or in `127.0.0.0/8`. */
export function isLoopbackAddress(address: string): boolean {
  if (ipaddr.IPv4.isValidFourPartDecimal(address)) return ipaddr.IPv4.parse(address).range() === 'loopback';
  return isPlainIPv6(address) && ipaddr.IPv6.parse(address).range() === 'loopback';
}

function isPlainIPv6(address: string): boolean {
  return !address.includes('%') && ipaddr.IPv6.isValid(address);
}
