/**
 * Parses an address.
 *
 * `URL.canParse` is no substitute: after some thousand calls, it refuses addresses with letters like ü in Node 20 and 22
 * (https://github.com/AikidoSec/firewall-node/pull/1086). `URL.parse` needs Node 22.
 *
 * @param base resolves a relative address
 * @returns null if the text is no address
 */
export function parseUrl(text: string, base?: string | URL): URL | null {
  try {
    return new URL(text, base);
  } catch {
    return null;
  }
}
