/** The addresses from which a key may be used: contract 5. */
import ipaddr from 'ipaddr.js';
import type { ApiKey } from '../../db/queries/api-keys.ts';
import { ServiceError } from '../../domain/errors.ts';

/**
 * Requires that the key has no allowlist, or one that contains the client's address, which is read only for an allowlist.
 *
 * @throws ServiceError with the code
 */
export function assertAllowedAddress(
  { ipAllowlist }: Pick<ApiKey, 'ipAllowlist'>,
  client: { readonly ip: string },
  code: 'forbidden' | 'access_denied',
): void {
  if (ipAllowlist === null) return;
  const { ip } = client;
  if (isAddressIn(ip, ipAllowlist)) return;
  throw new ServiceError(code, `The API key may not be used from the address ${ip}. Add it to the allowlist.`);
}

/** Whether the allowlist has the address, or a CIDR range that contains it. */
export function isAddressIn(address: string, allowlist: readonly string[]): boolean {
  if (!ipaddr.isValid(address)) return false;
  const caller = ipaddr.process(address);
  return allowlist.some((entry) => {
    const [network, bits] = entry.includes('/') ? ipaddr.parseCIDR(entry) : [ipaddr.process(entry), null];
    if (network.kind() !== caller.kind()) return false;
    return bits === null ? network.toString() === caller.toString() : caller.match(network, bits);
  });
}
