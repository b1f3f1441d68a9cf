/** Accepts WebSockets of OpenAI's realtime protocol. */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import { parseDirectives, wholeNumber } from '../directives.ts';
import { type FinishedResponse, startSession } from './session.ts';

const PATH = '/v1/realtime';
const MAX_FINISHED = 100_000;

export interface RealtimeUpgrades {
  accept(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** The responses so far. */
  readonly finished: readonly FinishedResponse[];
  close(): void;
}

/** @param apiKey the credential that clients must send; any is accepted when undefined */
export function createRealtimeUpgrades(apiKey: string | undefined): RealtimeUpgrades {
  const server = new WebSocketServer({ noServer: true, perMessageDeflate: false });
  const finished: FinishedResponse[] = [];
  return {
    finished,
    accept: (request, socket, head) => {
      socket.on('error', () => socket.destroy());
      const { pathname, searchParams } = new URL(request.url ?? '', 'http://simulator');
      const model = searchParams.get('model') ?? '';
      if (pathname !== PATH || model === '') return refuse(socket, 404, 'not_found');
      if (apiKey !== undefined && request.headers.authorization !== `Bearer ${apiKey}`) {
        return refuse(socket, 401, 'invalid_api_key');
      }
      const status = wholeNumber(parseDirectives(model), 'status');
      if (status !== undefined) return refuse(socket, status, 'scripted');
      server.handleUpgrade(request, socket, head, (webSocket) => {
        startSession(webSocket, model, (response) => {
          finished.push(response);
          if (finished.length > MAX_FINISHED) finished.shift();
        });
      });
    },
    close: () => {
      for (const client of server.clients) client.terminate();
    },
  };
}

function refuse(socket: Duplex, status: number, code: string): void {
  const body = JSON.stringify({ error: { type: 'invalid_request_error', code, message: 'The simulator refused.' } });
  socket.end(
    `HTTP/1.1 ${status} Refused\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`,
  );
}
