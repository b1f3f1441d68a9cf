/** Decides which links clients may use (contract 8.4): the part of the address guard that looks only at the text. */
import { isIP } from 'node:net';
import { isLoopbackAddress, isPublicAddress } from './public-address.ts';
import { parseUrl } from '../../domain/parse-url.ts';

export interface AddressPolicy {
  /** For tests only: also permits `http:` and this machine's addresses. Other private addresses are still refused. */
  readonly allowPrivateAddresses: boolean;
}

export const PUBLIC_ONLY: AddressPolicy = { allowPrivateAddresses: false };

/** The link, an address of its name, or the machine that a connection reached is not on the public internet. */
export class AddressRefusedError extends Error {
  override readonly name = 'AddressRefusedError';
}

/** Names that never lead to the public internet: RFC 6761, RFC 6762 (appendix G), RFC 8375 and ICANN's `internal`. */
const PRIVATE_NAMES = [
  'localhost',
  'localdomain',
  'local',
  'internal',
  'intranet',
  'private',
  'corp',
  'home',
  'lan',
  'home.arpa',
] as const;

/** Extracts the host of a link before any parser rewrites it; does not match links with credentials. */
const LINK_PATTERN = /^https?:\/\/(\[[^\]/?#]*\]|[^[\]:/?#@]+)(?::\d*)?(?:[/?#]|$)/i;

/**
 * Checks, without using the network, that `text` is a link to the public internet: `https`, without user name and
 * password, and with a full name or public address as its host. The host must be in canonical form. An address in
 * decimal, octal, hexadecimal or short form, or in characters that become digits or letters only when normalised, is
 * always refused, because the next reader of the link (an upstream) may read another address.
 *
 * A link that passes may still have a name with a private address: only a request through the guarded client is safe.
 *
 * @returns the parsed link
 * @throws AddressRefusedError with the reason, such as `the address 127.0.0.1 is not public`
 */
export function assertPublicHttpsUrl(text: string, policy: AddressPolicy = PUBLIC_ONLY): URL {
  const written = LINK_PATTERN.exec(text);
  const url = written === null || hasUnsafeCharacter(text) ? null : parseUrl(text);
  if (written === null || url === null) {
    throw new AddressRefusedError('not a full link with a scheme and a host and without credentials');
  }
  if (url.protocol !== 'https:' && !policy.allowPrivateAddresses) throw new AddressRefusedError('not an https link');
  if (!isWrittenAsRead(written[1] ?? '', url.hostname)) {
    throw new AddressRefusedError('the host is not written in its plain form');
  }
  assertPublicHost(withoutBrackets(url.hostname), policy);
  return url;
}

/** Whether {@link assertPublicHttpsUrl} accepts the text. */
export function isPublicHttpsUrl(text: string, policy: AddressPolicy): boolean {
  try {
    assertPublicHttpsUrl(text, policy);
    return true;
  } catch (error) {
    if (error instanceof AddressRefusedError) return false;
    throw error;
  }
}

/** The host of a link in the form that resolvers accept: `[::1]` becomes `::1`. */
export function withoutBrackets(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}

/** Whether the policy permits a connection to `address`, in canonical notation. */
export function isPermittedAddress(address: string, policy: AddressPolicy): boolean {
  return isPublicAddress(address) || (policy.allowPrivateAddresses && isLoopbackAddress(address));
}

function assertPublicHost(host: string, policy: AddressPolicy): void {
  if (isIP(host) !== 0) {
    if (!isPermittedAddress(host, policy)) throw new AddressRefusedError(`the address ${host} is not public`);
    return;
  }
  if (policy.allowPrivateAddresses) return;
  const name = host.replace(/\.$/, '');
  const isPrivate = PRIVATE_NAMES.some((suffix) => name === suffix || name.endsWith(`.${suffix}`));
  if (isPrivate || !name.includes('.')) throw new AddressRefusedError(`the name ${name} is not public`);
}

/** Whether the host equals its parsed form, except for case and the `xn--` spelling of international names. */
function isWrittenAsRead(written: string, read: string): boolean {
  return written.toLowerCase() === read || (/[^\0-\x7f]/.test(written) && /(^|\.)xn--/.test(read));
}

/** Finds white space and control characters, which parsers drop, and backslashes, which they read as slashes. */
function hasUnsafeCharacter(text: string): boolean {
  return /[\s\\\p{Cc}]/u.test(text);
}
