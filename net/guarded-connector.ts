/**
 * Connections that cannot lead into a private network: every address of a name is checked, the connection goes to
 * exactly those addresses, and the connected socket is checked again. A `lookup` hook alone would not be enough,
 * because addresses in the link itself never pass through it.
 */
import { lookup, Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { Socket } from 'node:net';
import { callbackify } from 'node:util';
import { buildConnector } from 'undici';
import { AddressRefusedError, permitsAddress, withoutBrackets } from './public-url.ts';
import type { AddressPolicy } from './public-url.ts';

/** All addresses of a host name, in canonical notation and in order of preference. */
export type Resolve = (hostname: string) => Promise<readonly string[]>;

/** Opens a connection for `target` to one of `addresses`. */
export type OpenConnection = (target: buildConnector.Options, addresses: readonly string[]) => Promise<Socket>;

interface GuardedConnectorOptions {
  readonly policy: AddressPolicy;
  readonly resolve: Resolve;
  /** Not trusted: the address that the socket reached is checked before any byte of the request is written. */
  readonly open: OpenConnection;
}

/** The part of the resolver that is used. */
export type NameServers = Pick<Resolver, 'resolve4' | 'resolve6'>;

const CONNECT_TIMEOUT_MS = 10_000;
/** How long a name server has to answer before it is asked once more. */
const ANSWER_TIMEOUT_MS = 2_000;
const UNKNOWN_CODES: readonly string[] = ['ENOTFOUND', 'ENODATA', 'ECONNREFUSED'];

/** The connector for undici dispatchers. Connections fail with {@link AddressRefusedError} or a network error. */
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

/** The addresses of the target: at least one, and all of them permitted, since any of them may be used. */
async function resolvePermitted(
  { hostname, protocol }: buildConnector.Options,
  resolve: Resolve,
  policy: AddressPolicy,
): Promise<readonly string[]> {
  if (protocol !== 'https:' && !policy.allowPrivateAddresses) throw new AddressRefusedError('not an https link');
  const host = withoutBrackets(hostname);
  const addresses = isIP(host) === 0 ? [...(await resolve(host))] : [host];
  if (addresses.length === 0) throw new AddressRefusedError(`the name ${host} has no address`);
  // The message does not name the address: the caller who gave the name may read it, and would learn about internal names.
  if (!addresses.every((address) => permitsAddress(address, policy))) {
    throw new AddressRefusedError(`${host} leads to an address that is not public`);
  }
  return addresses;
}

/**
 * Creates the resolver for names that somebody else chose. It asks name servers without using a thread: the system's
 * resolver would block one of the four threads that also serve all file access, for as long as the name's server likes.
 * The system is asked, one name at a time, only for names that name servers do not know at all, such as those in the
 * hosts file.
 */
export function createResolver(
  servers: NameServers = new Resolver({ timeout: ANSWER_TIMEOUT_MS, tries: 2 }),
  askSystem: Resolve = lookUp,
): Resolve {
  let turn: Promise<unknown> = Promise.resolve();
  return async (hostname) => {
    const answers = hostname.includes('.')
      ? await Promise.allSettled([servers.resolve4(hostname), servers.resolve6(hostname)])
      : [];
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    if (addresses.length > 0) return addresses;
    for (const answer of answers) if (answer.status === 'rejected' && !isUnknown(answer.reason)) throw answer.reason;
    const asked = turn.then(() => askSystem(hostname));
    turn = asked.catch(() => {});
    return asked;
  };
}

/** With the system's name servers. */
export const resolveWithSystem: Resolve = createResolver();

/** Whether there is no such name, or no name server. */
function isUnknown(error: unknown): boolean {
  return error instanceof Error && 'code' in error && UNKNOWN_CODES.includes(String(error.code));
}

async function lookUp(hostname: string): Promise<readonly string[]> {
  const found = await lookup(hostname, { all: true, verbatim: true });
  return found.map(({ address }) => address);
}

/**
 * Connects to one of the given addresses, trying them in turn. The certificate is still checked against the name.
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
