/**
 * Opens connections that cannot lead into a private network: checks every address of a name, connects to exactly these
 * addresses, and checks the connected socket again. A `lookup` hook would not be enough, because it never sees an
 * address that the link itself contains.
 */
import { lookup, Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { Socket } from 'node:net';
import { callbackify } from 'node:util';
import { buildConnector } from 'undici';
import { AddressRefusedError, isPermittedAddress, withoutBrackets } from './public-url.ts';
import type { AddressPolicy } from './public-url.ts';

/** Returns all addresses of a host name, in canonical notation and in order of preference. */
export type Resolve = (hostname: string) => Promise<readonly string[]>;

/** Opens a connection for `target` to one of `addresses`. */
export type OpenConnection = (target: buildConnector.Options, addresses: readonly string[]) => Promise<Socket>;

interface GuardedConnectorOptions {
  readonly policy: AddressPolicy;
  readonly resolve: Resolve;
  /** Not trusted: the connector checks the address that the socket reached before it writes any byte. */
  readonly open: OpenConnection;
}

/** The used part of Node's resolver. */
export type NameServers = Pick<Resolver, 'resolve4' | 'resolve6'>;

const CONNECT_TIMEOUT_MS = 10_000;
/** How long to wait for a name server before asking once more. */
const ANSWER_TIMEOUT_MS = 2_000;
const UNKNOWN_CODES: readonly string[] = ['ENOTFOUND', 'ENODATA', 'ECONNREFUSED'];

/** Creates a connector for undici. Connections fail with {@link AddressRefusedError} or a network error. */
export function createGuardedConnector({ policy, resolve, open }: GuardedConnectorOptions): buildConnector.connector {
  const connect = callbackify(async (target: buildConnector.Options) => {
    const socket = await open(target, await resolvePermitted(target, resolve, policy));
    const peer = socket.remoteAddress ?? 'nowhere';
    if (isPermittedAddress(peer, policy)) return socket;
    socket.destroy();
    throw new AddressRefusedError(`the connection to ${target.hostname} reached an address that is not public`);
  });
  return (target, callback) => {
    connect(target, (error: Error | null, socket) => (error === null ? callback(null, socket) : callback(error, null)));
  };
}

/** Resolves the target. Requires that all its addresses are permitted, since the connection may use any of them. */
async function resolvePermitted(
  { hostname, protocol }: buildConnector.Options,
  resolve: Resolve,
  policy: AddressPolicy,
): Promise<readonly string[]> {
  if (protocol !== 'https:' && !policy.allowPrivateAddresses) throw new AddressRefusedError('not an https link');
  const host = withoutBrackets(hostname);
  const addresses = isIP(host) === 0 ? [...(await resolve(host))] : [host];
  if (addresses.length === 0) throw new AddressRefusedError(`the name ${host} has no address`);
  // The caller who chose the name may read the message, so it must not reveal the addresses of internal names.
  if (!addresses.every((address) => isPermittedAddress(address, policy))) {
    throw new AddressRefusedError(`${host} leads to an address that is not public`);
  }
  return addresses;
}

/**
 * Creates the resolver for names that clients or providers chose. The resolver asks name servers without using a thread: a slow
 * name server would block the system's resolver, and with it one of the four threads that also serve all file access.
 * The resolver asks the system, one name at a time, only for names that no name server knows, such as those in the
 * hosts file.
 */
export function createResolver(
  servers: NameServers = new Resolver({ timeout: ANSWER_TIMEOUT_MS, tries: 2 }),
  resolveOnSystem: Resolve = resolveWithOperatingSystem,
): Resolve {
  let previous: Promise<unknown> = Promise.resolve();
  return async (hostname) => {
    const answers = hostname.includes('.')
      ? await Promise.allSettled([servers.resolve4(hostname), servers.resolve6(hostname)])
      : [];
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    if (addresses.length > 0) return addresses;
    for (const answer of answers) if (answer.status === 'rejected' && !isUnknown(answer.reason)) throw answer.reason;
    const found = previous.then(() => resolveOnSystem(hostname));
    previous = found.catch(() => {});
    return found;
  };
}

/** Resolves with the system's name servers. */
export const resolveWithSystem: Resolve = createResolver();

/** Whether the name does not exist, or there is no name server. */
function isUnknown(error: unknown): boolean {
  return error instanceof Error && 'code' in error && UNKNOWN_CODES.includes(String(error.code));
}

async function resolveWithOperatingSystem(hostname: string): Promise<readonly string[]> {
  const found = await lookup(hostname, { all: true, verbatim: true });
  return found.map(({ address }) => address);
}

/**
 * Connects to one of the given addresses, trying them in turn. TLS still checks the certificate against the name.
 *
 * @param certificateAuthorities authorities to trust instead of the usual ones, as PEM text
 */
export function createPinnedConnector(certificateAuthorities?: string): OpenConnection {
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
