/** The connections of a process for responses over WebSockets, and their limits. */
import { WebSocketServer } from 'ws';
import { ServiceError } from '../domain/errors.ts';
import { RESPONSE_SOCKETS } from '../domain/policy.ts';
import type { Caller } from '../db/queries/api-keys.ts';
import { acceptSocket } from './accept-socket.ts';
import { type ConversationMemory, ResponseSocket } from './response-socket.ts';
import type { Context } from './state.ts';

export interface ResponseSockets {
  /** Accepts the upgrade of a checked request. @throws ServiceError if the account or the process has too many */
  open(context: Context, caller: Caller): Promise<void>;
}

const RETRY_SECONDS = 5;

export function createResponseSockets(): ResponseSockets {
  const server = new WebSocketServer({
    noServer: true,
    maxPayload: RESPONSE_SOCKETS.maxMessageBytes,
    perMessageDeflate: false,
  });
  const memory: ConversationMemory = { bytes: 0 };
  const counts = new Map<string, number>();
  let all = 0;

  function count(accountId: string, change: 1 | -1): void {
    all += change;
    const ofAccount = (counts.get(accountId) ?? 0) + change;
    if (ofAccount > 0) counts.set(accountId, ofAccount);
    else counts.delete(accountId);
  }

  return {
    open: async (context, { account: { id } }) => {
      const { ofProcess, ofAccount } = RESPONSE_SOCKETS.connections;
      if (all >= ofProcess || (counts.get(id) ?? 0) >= ofAccount) throw tooMany();
      count(id, 1);
      try {
        const { peer, upgrade } = await acceptSocket(context, server);
        const connection = new ResponseSocket(peer, context.req.headers, upgrade, memory);
        connection.start();
        void connection.ended.then(() => count(id, -1));
      } catch (error) {
        count(id, -1);
        throw error;
      }
    },
  };
}

function tooMany(): ServiceError {
  return new ServiceError(
    'processing_unavailable',
    'Too many WebSockets are open. Try again in a few seconds, close one, or use POST /v1/responses.',
    { retryAfterSeconds: RETRY_SECONDS },
  );
}
