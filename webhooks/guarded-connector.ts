/**
 * Connections that cannot end in a private network: every address of a name is checked, the connection goes to exactly
 * those addresses, and the connected socket is checked again. A `lookup` hook alone would not do: addresses written in the
 * link itself never pass through it.
 */
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { Socket } from 'node:net';
import { callbackify } from 'node:util';
import { buildConnector } from 'undici';
import { AddressRefusedError, permitsAddress, withoutBrackets } from './public-url.ts';
import type { AddressPolicy } from './public-url.ts';

/** All addresses of a host name, in canonical text and in order of preference. */
export type Resolve = (hostname: string) => Promise<readonly string[]>;

/** Opens a connection for `target` that may only go to one of `addresses`. */
export type OpenConnection = (target: buildConnector.Options, addresses: readonly string[]) => Promise<Socket>;

interface GuardedConnectorOptions {
  readonly policy: AddressPolicy;
  readonly resolve: Resolve;
  /** Not believed: where the socket ended up is checked before a byte of the request is written. */
  readonly open: OpenConnection;
}

const CONNECT_TIMEOUT_MS = 10_000;

/** The connector for undici dispatchers. Connections fail with {@link AddressRefusedError} or an error of the network. */
export function createGuardedConnector({ policy, resolve, open }: GuardedConnectorOptions): buildConnector.connector {
  const connect = callbackify(async (target: buildConnector.Options) => {
    const socket = await open(target, await resolvePermitted(target, resolve, policy));
    const peer = socket.remoteAddress ?? 'nowhere';
    if (permitsAddress(peer, policy)) return socket;
    socket.destroy();
    throw new AddressRefusedError(`the connection to ${target.hostname} reached an address that is not public`);
  });
  return (target, callback) => {
    connect(target, (error: Error | null, socket) => (error === null ? callback(null, socket) : callback(error, null)));
  };
}

/** The addresses of the target: at least one, and all of them permitted, since any of them may be connected to. */
async function resolvePermitted(
  { hostname, protocol }: buildConnector.Options,
  resolve: Resolve,
  policy: AddressPolicy,
): Promise<readonly string[]> {
  if (protocol !== 'https:' && !policy.allowPrivateAddresses) throw new AddressRefusedError('not an https link');
  const host = withoutBrackets(hostname);
  const addresses = isIP(host) === 0 ? [...(await resolve(host))] : [host];
  if (addresses.length === 0) throw new AddressRefusedError(`the name ${host} has no address`);
  // Not which one: whoever gave the name may read this, and would learn what names mean inside.
  if (!addresses.every((address) => permitsAddress(address, policy))) {
    throw new AddressRefusedError(`${host} leads to an address that is not public`);
  }
  return addresses;
}

/** Asks the system's resolver, which also knows the hosts file. */
export async function resolveWithSystem(hostname: string): Promise<readonly string[]> {
  const found = await lookup(hostname, { all: true, verbatim: true });
  return found.map(({ address }) => address);
}

/**
 * Connects to the given addresses, trying them in turn. The certificate is still checked against the name.
 *
 * @param certificateAuthorities PEM text of authorities to trust instead of the usual ones
 */
export function openPinned(certificateAuthorities?: string): OpenConnection {
  return (target, addresses) => {
    const pinned = addresses.map((address) => ({ address, family: isIP(address) }));
    const connect = buildConnector({
      ...(certificateAuthorities === undefined ? {} : { ca: certificateAuthorities }),
      timeout: CONNECT_TIMEOUT_MS,
      autoSelectFamily: true,
      lookup: (_hostname, _options, answer) => answer(null, pinned),
    });
    return new Promise((resolve, reject) => {
      connect(target, (error, socket) => (error === null ? resolve(socket) : reject(error)));
    });
  };
}
