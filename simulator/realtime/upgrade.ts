/** Accepts WebSockets of OpenAI's realtime protocol. */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import { parseDirectives, wholeNumber } from '../directives.ts';
import { SimulatedCalls } from './calls.ts';
import { type FinishedResponse, startSession } from './session.ts';

const PATH = '/v1/realtime';
const MAX_FINISHED = 100_000;

export interface RealtimeUpgrades {
  accept(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** The responses so far, also of calls. */
  readonly finished: readonly FinishedResponse[];
  readonly calls: SimulatedCalls;
  /** Breaks all sessions off. @returns their number */
  breakOff(): number;
  /** Neither sends nor reads anything in the open sessions, whose responses go on, until `goOn`. */
  silence(): { readonly sessions: number; readonly goOn: () => void };
  close(): void;
}

/** @param apiKey the credential that clients must send; any is accepted when undefined */
export function createRealtimeUpgrades(apiKey: string | undefined): RealtimeUpgrades {
  const server = new WebSocketServer({ noServer: true, perMessageDeflate: false });
  const finished: FinishedResponse[] = [];
  const addFinished = (response: FinishedResponse): void => {
    finished.push(response);
    if (finished.length > MAX_FINISHED) finished.shift();
  };
  const calls = new SimulatedCalls(addFinished);
  const connections = new Set<Duplex>();
  return {
    finished,
    calls,
    accept: (request, socket, head) => {
      socket.on('error', () => socket.destroy());
      const { pathname, searchParams } = new URL(request.url ?? '', 'http://simulator');
      const model = searchParams.get('model') ?? '';
      const call = calls.find(searchParams.get('call_id') ?? '');
      if (pathname !== PATH || (model === '' && call === undefined)) return refuse(socket, 404, 'not_found');
      if (apiKey !== undefined && request.headers.authorization !== `Bearer ${apiKey}`) {
        return refuse(socket, 401, 'invalid_api_key');
      }
      const status = wholeNumber(parseDirectives(model), 'status');
      if (status !== undefined) return refuse(socket, status, 'scripted');
      server.handleUpgrade(request, socket, head, (webSocket) => {
        connections.add(socket);
        socket.once('close', () => connections.delete(socket));
        if (call === undefined) startSession(webSocket, model, addFinished);
        else call.join(webSocket);
      });
    },
    breakOff: () => breakOff(server),
    silence: () => {
      const silent = [...connections];
      for (const connection of silent) connection.pause().cork();
      const goOn = (): void => {
        for (const connection of silent) {
          connection.uncork();
          connection.resume();
        }
      };
      return { sessions: silent.length, goOn };
    },
    close: () => void breakOff(server),
  };
}

function breakOff({ clients }: WebSocketServer): number {
  const sessions = clients.size;
  for (const client of clients) client.terminate();
  return sessions;
}

function refuse(socket: Duplex, status: number, code: string): void {
  const body = JSON.stringify({ error: { type: 'invalid_request_error', code, message: 'The simulator refused.' } });
  socket.end(
    `HTTP/1.1 ${status} Refused\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`,
  );
}
