/**
 * Accepts requests that ask for a WebSocket. `ws` unmasks messages with the optional package `bufferutil`, where that is
 * installed: in JavaScript, 14 MB of one client hold up all others for 50 ms.
 */
import type { WebSocket, WebSocketServer } from 'ws';
import { badRequest, ServiceError } from '../domain/errors.ts';
import { REALTIME } from '../domain/policy.ts';
import type { Peer } from '../services/realtime/peer.ts';
import { asksForUpgrade, takeUpgrade, type Upgrade } from './http-server.ts';
import type { Context } from './state.ts';
import { UnfinishedMessages } from './unfinished-messages.ts';

const UNFINISHED_CHECK_MS = 100;

const unfinished = new UnfinishedMessages(REALTIME.maxUnfinishedBytes);
setInterval(() => unfinished.enforce(), UNFINISHED_CHECK_MS).unref();

/** @throws ServiceError 426 for a request without an upgrade to a WebSocket */
export function assertUpgrade({ req }: Context): void {
  if (asksForUpgrade(req)) return;
  throw new ServiceError('bad_request', 'Open this address as a WebSocket.', {
    status: 426,
    headers: { Upgrade: 'websocket' },
  });
}

/** @throws ServiceError if the client left, or its request is no valid handshake */
export async function acceptSocket(
  context: Context,
  server: WebSocketServer,
): Promise<{ readonly peer: Peer; readonly upgrade: Upgrade }> {
  const upgrade = takeUpgrade(context.req, context.res);
  if (upgrade === null) throw badRequest('The client closed the connection.');
  context.respond = false;
  const { socket: connection, head } = upgrade;
  const socket = await new Promise<WebSocket>((resolve, reject) => {
    connection.once('close', () => reject(badRequest('The client closed the connection.')));
    server.handleUpgrade(context.req, connection, head, resolve);
  });
  return { peer: unfinished.add(socket, connection), upgrade };
}
