/** Opens WebSockets to upstreams: chooses an upstream for each session, and the next one if it fails. */
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { ServiceError } from '../../domain/errors.ts';
import { FORMATS } from '../../text/formats.ts';
import { FAILED, UNREACHABLE, UpstreamError } from '../../text/upstream-errors.ts';
import { jsonOrText } from './answer.ts';
import { type AttemptReport, describeAttempt, errorForClient } from './attempt-report.ts';
import { faultOf, isTransient, noteFailure, type FailedAttempt } from './attempt.ts';
import { type Candidate, keyHint, orderCandidates, type UpstreamRoute } from './candidates.ts';
import type { CircuitBoard, CircuitCall } from './circuits.ts';
import { Failover } from './failover.ts';
import type { Overrides } from './overrides.ts';
import type { UpstreamSnapshot } from './upstream-set.ts';

/** What opens at one of the routes. */
export interface Opening<Route extends UpstreamRoute> {
  readonly requestId: string;
  /** The account that opens the session. */
  readonly account: string;
  readonly routes: readonly Route[];
  /** Sessions with the same affinity use the same candidate if possible. */
  readonly affinity: string;
  /** The end of the only key to use; any by default. */
  readonly keyHint?: string;
  readonly maxMessageBytes: number;
}

/** A session to open at one of the routes. */
export interface SocketCall<Route extends UpstreamRoute> extends Opening<Route> {
  /** The path and query after the upstream's address, with its name for the model. */
  readonly pathOf: (route: Route) => string;
}

/** A WebSocket to an upstream. */
export interface ConnectedSocket {
  readonly socket: WebSocket;
  /** The connection below the socket. */
  readonly connection: Socket;
  /** Messages that arrived before a listener was added. Call it once the listener is there. */
  readonly start: () => void;
}

export interface UpstreamSocket<Route extends UpstreamRoute> extends ConnectedSocket {
  readonly route: Route;
  /** Records that the upstream ended the session in the middle of a response. */
  readonly failed: () => void;
}

export interface SocketParts {
  readonly board: CircuitBoard;
  readonly overrides: Overrides;
  readonly upstreams: UpstreamSnapshot;
  readonly observer: { readonly attempted: (attempt: AttemptReport) => void };
  readonly nowMs: () => number;
}

export const HANDSHAKE_TIMEOUT_MS = 5_000;
const MAX_OPENING_MS = 15_000;
const MAX_ERROR_BYTES = 64 * 1024;

/** @throws ServiceError the client's error if no upstream opens the session */
export function openSocket<Route extends UpstreamRoute>(
  call: SocketCall<Route>,
  parts: SocketParts,
): Promise<UpstreamSocket<Route>> {
  return openAtBest(call, parts, (candidate) => connect(candidate, call.pathOf(candidate.route), call, parts));
}

/**
 * Opens something at the best candidate, and at the next one if that fails.
 *
 * @param open throws UpstreamError
 * @throws ServiceError the client's error if no candidate opens it
 */
export async function openAtBest<Route extends UpstreamRoute, Opened extends ConnectedSocket>(
  call: Opening<Route>,
  { board, overrides, upstreams, observer, nowMs }: SocketParts,
  open: (candidate: Candidate<Route>) => Promise<Opened>,
): Promise<Opened & UpstreamSocket<Route>> {
  const startedAtMs = nowMs();
  // Upstreams of clouds, and credentials that expire, have no sessions.
  const keysOf = (route: Route): readonly string[] => {
    const settings = upstreams.settingsOf(route.provider);
    if (settings?.auth !== undefined || settings?.platform !== undefined) return [];
    return keysWith(call.keyHint, upstreams.keysOf(route));
  };
  const candidates = overrides.open(orderCandidates(call.routes, keysOf, call.affinity), startedAtMs);
  const failover = new Failover(candidates, (candidate) => board.of(candidate), startedAtMs + MAX_OPENING_MS);
  for (let number = 1; ; number += 1) {
    if (failover.pauseMs > 0) await sleep(failover.pauseMs);
    const candidate = failover.next(nowMs());
    if (candidate === null) throw failover.refusal(nowMs());
    const attemptedAtMs = nowMs();
    const circuit = board.of(candidate).start(attemptedAtMs, call.account);
    const opened = await open(candidate).catch((error: unknown) => failureOf(error, circuit, attemptedAtMs, nowMs));
    const failure = 'socket' in opened ? null : opened;
    const canGoOn = failure !== null && failover.failed(candidate, failure);
    const following = canGoOn ? failover.peek(nowMs()) : null;
    observer.attempted(
      describeAttempt(candidate, failure, keysOf(candidate.route), {
        account: call.account,
        requestId: call.requestId,
        number,
        unreadableEvents: 0,
        decision:
          failure === null ? 'answered' : following === null ? 'refused' : following === candidate ? 'retry' : 'next',
        seconds: (nowMs() - attemptedAtMs) / 1000,
      }),
    );
    if ('socket' in opened) {
      circuit.record('started', nowMs());
      circuit.record('completed', nowMs());
      return { ...opened, route: candidate.route, failed: () => failSession(board, candidate, call.account, nowMs) };
    }
    if (!canGoOn) throw errorForClient(opened.error, null);
  }
}

/** The keys with an end; all without one. */
export function keysWith(hint: string | undefined, keys: readonly string[]): readonly string[] {
  return hint === undefined ? keys : keys.filter((key) => keyHint(key) === hint);
}

function failSession(board: CircuitBoard, candidate: Candidate, account: string, nowMs: () => number): void {
  const circuit = board.of(candidate).start(nowMs(), account);
  circuit.record('started', nowMs());
  circuit.failed('failed', nowMs(), null);
}

function failureOf(error: unknown, circuit: CircuitCall, startedAtMs: number, nowMs: () => number): FailedAttempt {
  const fault = faultOf(error);
  noteFailure(circuit, fault, error, nowMs());
  return { error, fault, hadStarted: false, isTransient: isTransient(error, nowMs() - startedAtMs) };
}

/** @param path the path and query after the upstream's address @throws UpstreamError */
export function connect(
  { route, key }: Candidate,
  path: string,
  { maxMessageBytes }: Pick<Opening<UpstreamRoute>, 'maxMessageBytes'>,
  { upstreams }: Pick<SocketParts, 'upstreams'>,
): Promise<ConnectedSocket> {
  const { baseUrls, headers = {} } = upstreams.settingsOf(route.provider) ?? { baseUrls: {} };
  const baseUrl = baseUrls[route.format];
  if (baseUrl === undefined) throw new ServiceError('processing_unavailable', 'No upstream serves the model.');
  const socket = new WebSocket(baseUrl.replace(/^http/, 'ws').replace(/\/$/, '') + path, {
    headers: { ...headers, authorization: `Bearer ${key}` },
    perMessageDeflate: false,
    maxPayload: maxMessageBytes,
    handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
    followRedirects: false,
  });
  // The upstream may send its first event with the end of the handshake, before the session listens.
  const start = holdMessages(socket);
  return new Promise((resolve, reject) => {
    socket.once('upgrade', ({ socket: connection }) =>
      socket.once('open', () => resolve({ socket, connection, start })),
    );
    socket.on('error', (cause) => reject(new UpstreamError(UNREACHABLE, { cause })));
    socket.once('close', () => reject(new UpstreamError(FAILED)));
    socket.once('unexpected-response', (request, response) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      const refuse = (): void => {
        reject(
          FORMATS[route.format].upstream.parseError(
            response.statusCode ?? 0,
            jsonOrText(Buffer.concat(chunks).toString()),
            Number(response.headers['retry-after'] ?? '') || undefined,
          ),
        );
        request.destroy();
      };
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes <= MAX_ERROR_BYTES) chunks.push(chunk);
        else refuse();
      });
      response.once('end', refuse);
      response.once('error', refuse);
    });
  });
}

function holdMessages(socket: WebSocket): () => void {
  const held: [Buffer, boolean][] = [];
  const hold = (data: Buffer, isBinary: boolean): void => void held.push([data, isBinary]);
  socket.on('message', hold);
  socket.once('open', () => socket.pause());
  return () => {
    socket.off('message', hold);
    for (const [data, isBinary] of held) socket.emit('message', data, isBinary);
    socket.resume();
  };
}
