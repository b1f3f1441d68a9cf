/** An HTTP server that no client can hold up. */
import {
  createServer,
  type IncomingMessage,
  type OutgoingHttpHeader,
  type OutgoingHttpHeaders,
  type Server,
  ServerResponse,
} from 'node:http';
import { setMaxListeners } from 'node:events';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { ServiceError } from '../domain/errors.ts';
import { newId } from '../domain/ids.ts';
import { presentError } from '../domain/error-envelope.ts';
import { afterPendingReads } from '../domain/after-pending-reads.ts';
import { UNREAD_LIMITS, UnreadAnswers, type UnreadLimits } from './unread-answers.ts';

export interface RunningServer {
  readonly port: number;
  /** From now on, every answer is the last on its connection. The server accepts new connections until `stop`. */
  endConnections(): void;
  /** Accepts no new connections, lets requests in progress finish, and closes the rest after `graceMs`. */
  stop(graceMs: number): Promise<void>;
}

/** Limits how long clients may occupy a connection. */
export interface ClientLimits {
  /** The time from the first byte of a request to the end of its headers. */
  readonly headersMs: number;
  /** How long a client may leave an answer unread. */
  readonly unreadMs: number;
  /** How many bytes of answers clients may leave unread. */
  readonly unreadBytes: UnreadLimits;
}

export const CLIENT_LIMITS: ClientLimits = { headersMs: 15_000, unreadMs: 60_000, unreadBytes: UNREAD_LIMITS };
/** Enough to upload 100 MB over a slow connection. */
export const REQUEST_TIMEOUT_MS = 10 * 60_000;
/** Longer than the usual 60 s of load balancers, so that the server never closes first. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000;
/**
 * Connections that the kernel holds until the process accepts them. Node's default of 511 overflows at about 2,000 new
 * connections a second; clients of a dropped connection wait a second or longer for the retransmission.
 */
const ACCEPT_BACKLOG = 4_096;
export const MAX_HEADER_BYTES = 16 * 1024;
/** How often Node looks for connections that have timed out. */
const TIMEOUT_CHECK_MS = 1_000;
/** How long, and how many bytes, a refused client may go on sending before the server closes the connection. */
const LINGER_MS = 5_000;
const LINGER_BYTES = 64 * 2 ** 20;
const LINGER_CHECK_MS = 100;
const UNREAD_CHECK_MS = 100;
/** Koa alone adds seven listeners for the end of an answer that streams; from eleven on, Node would warn of a leak. */
const MAX_LISTENERS = 20;
/**
 * The maximum number of requests in progress on a connection. Usual clients send one after the other. Without this
 * limit, a packet could contain thousands of small requests, which would all start before other clients are served.
 */
export const MAX_REQUESTS_UNDER_WAY = 16;

/** Answers requests, and handles its own errors. */
type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<unknown>;

/** @throws Error if the port is taken */
export async function listen(
  handler: Handler,
  host: string,
  port: number,
  { headersMs, unreadMs, unreadBytes } = CLIENT_LIMITS,
): Promise<RunningServer> {
  let isEnding = false;
  const stopping = new AbortController();
  // Each connection of a WebSocket listens.
  setMaxListeners(0, stopping.signal);
  const server = createServer(
    {
      headersTimeout: headersMs,
      requestTimeout: REQUEST_TIMEOUT_MS,
      keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
      connectionsCheckingInterval: TIMEOUT_CHECK_MS,
      // Node's own refusal has neither an envelope nor a request id.
      requireHostHeader: false,
      ServerResponse: ClosingResponse,
    },
    (request, response) => {
      // Data after an unread body is ignored: it may be the rest of that body.
      if (ending.has(request.socket)) return;
      const refusal = refusalOf(request);
      if (isEnding) response.shouldKeepAlive = false;
      if (refusal !== null) return refuseAndClose(request.socket, response, refusal);
      if (use.underWay(request.socket) > MAX_REQUESTS_UNDER_WAY) return cutOff(request.socket);
      void handler(request, response);
    },
  );
  const use = trackUse(server);
  serveUpgrades(server, use, handler, stopping.signal);
  closeUnreadConnections(server, use, unreadMs);
  limitUnreadBytes(server, unreadBytes);
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    const isHeadersTimeout = error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && use.underWay(socket) === 0;
    if (!isHeadersTimeout) return refuseGarbage(error, socket);
    afterPendingReads(() => {
      if (use.underWay(socket) === 0) refuseGarbage(error, socket);
    });
  });
  // Node refuses unknown expectations without an envelope; RFC 9110 lets a server ignore them.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, host, backlog: ACCEPT_BACKLOG }, resolve);
  });
  const address = server.address();
  return {
    port: typeof address === 'object' && address ? address.port : port,
    endConnections: () => {
      isEnding = true;
    },
    stop: (graceMs) => {
      stopping.abort();
      return stop(server, use, graceMs);
    },
  };
}

/** Passes requests for WebSockets to the handler, and serves other upgrades without the upgrade. */
function serveUpgrades(server: Server, use: Use, handler: Handler, stopping: AbortSignal): void {
  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    socket.on('error', () => socket.destroy());
    if (ending.has(socket)) return;
    // Answers to earlier requests on the connection would mix with the messages.
    if (use.underWay(socket) > 0) return cutOff(socket);
    if (!isWebSocket(request)) return serveWithoutUpgrade(server, request, socket, head);
    use.leave(socket);
    const response = new ClosingResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(socket);
    response.once('finish', () => socket.destroySoon());
    const refusal = refusalOf(request);
    if (refusal !== null) return refuseAndClose(socket, response, refusal);
    const serve = (connection: Duplex): void => void server.emit('connection', connection);
    upgrades.set(request, { socket, head, serve, stopping });
    void handler(request, response);
  });
}

/** The requests in progress on a server's connections. */
interface Use {
  /** The number of requests in progress on a connection. */
  underWay(socket: Socket): number;
  /** Tracks a connection no further. */
  leave(socket: Socket): void;
  /** Closes connections without a request now, and all others after their last answer. */
  closeUnused(): void;
}

/**
 * Tracks which connections have a request in progress. After `close`, Node itself would keep open the connections that
 * never had a request, and those whose answer ends later.
 */
function trackUse(server: Server): Use {
  const requests = new Map<Socket, number>();
  let isClosing = false;
  const count = (socket: Socket, change: number): void => {
    const before = requests.get(socket);
    if (before === undefined) return;
    const left = before + change;
    requests.set(socket, left);
    if (isClosing && left === 0) socket.destroySoon();
  };
  server.on('connection', (socket: Socket) => {
    requests.set(socket, 0);
    socket.once('close', () => requests.delete(socket));
  });
  // Runs before the request handler, so that the handler sees the count.
  server.prependListener('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    if (ending.has(socket)) return;
    count(socket, 1);
    response.once('close', () => count(socket, -1));
  });
  return {
    underWay: (socket) => requests.get(socket) ?? 0,
    leave: (socket) => void requests.delete(socket),
    closeUnused: () => {
      isClosing = true;
      for (const socket of requests.keys()) count(socket, 0);
    },
  };
}

/** Closes connections whose clients do not read their answers, and so frees the files and upstreams behind them. */
function closeUnreadConnections(server: Server, use: Use, unreadMs: number): void {
  server.timeout = unreadMs;
  // Also fires for connections that wait for their next request or their answer.
  server.on('timeout', (socket: Socket) => {
    if (use.underWay(socket) > 0 && socket.writableLength === 0) {
      socket.setTimeout(unreadMs);
      return;
    }
    const { bytesRead, writableLength } = socket;
    afterPendingReads(() => {
      if (socket.bytesRead > bytesRead || socket.writableLength < writableLength) socket.setTimeout(unreadMs);
      else socket.destroy();
    });
  });
}

/** Closes the connections whose clients leave the most unread, while the memory of the process is at stake. */
function limitUnreadBytes(server: Server, limits: UnreadLimits): void {
  const answers = new UnreadAnswers(limits);
  server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
    answers.add(request, response);
  });
  const timer = setInterval(() => answers.enforce(), UNREAD_CHECK_MS).unref();
  server.once('close', () => clearInterval(timer));
}

/** The connection of a request for an upgrade to a WebSocket, with the bytes that followed the request. */
export interface Upgrade {
  readonly socket: Socket;
  readonly head: Buffer;
  /** Serves HTTP over another connection, such as one within the process. */
  readonly serve: (connection: Duplex) => void;
  /** Aborted when the server stops. */
  readonly stopping: AbortSignal;
}

const upgrades = new WeakMap<IncomingMessage, Upgrade>();

/**
 * Takes the connection of a request for an upgrade out of HTTP. From then on its response has no effect.
 *
 * @returns null for a request that asks for no upgrade, or whose client left
 */
export function takeUpgrade(request: IncomingMessage, response: ServerResponse): Upgrade | null {
  const upgrade = upgrades.get(request);
  upgrades.delete(request);
  if (upgrade === undefined || upgrade.socket.destroyed || response.headersSent) return null;
  const { socket } = upgrade;
  response.detachSocket(socket);
  response.statusCode = 101;
  response.emit('close');
  socket.setTimeout(0);
  return upgrade;
}

/** Whether a request asks for an upgrade to a WebSocket that can still be accepted. */
export function asksForUpgrade(request: IncomingMessage): boolean {
  return upgrades.has(request);
}

/** Whether a request neither changes anything by its method nor opens a session. */
export function isReadRequest(request: IncomingMessage): boolean {
  return READS.has(request.method) && !asksForUpgrade(request);
}

const READS: ReadonlySet<string | undefined> = new Set(['GET', 'HEAD']);

function isWebSocket({ method, headers: { upgrade } }: IncomingMessage): boolean {
  return method === 'GET' && upgrade?.toLowerCase() === 'websocket';
}

/**
 * Serves a request that offers another protocol, such as h2c, as if it did not: RFC 9110, section 7.8. Node has stopped
 * to read HTTP from the connection, so the connection starts again with the request.
 */
function serveWithoutUpgrade(server: Server, request: IncomingMessage, socket: Socket, head: Buffer): void {
  const { method = '', url = '', httpVersion, rawHeaders } = request;
  const lines = [`${method} ${url} HTTP/${httpVersion}`];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? '';
    const value = rawHeaders[at + 1] ?? '';
    if (name.toLowerCase() === 'upgrade') continue;
    if (name.toLowerCase() !== 'connection') lines.push(`${name}: ${value}`);
    else if (/\bclose\b/i.test(value)) lines.push('Connection: close');
  }
  socket.removeAllListeners('error');
  socket.unshift(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), head]));
  server.emit('connection', socket);
}

/** Closes a connection immediately and ignores data that has already arrived. */
function cutOff(socket: Socket): void {
  ending.add(socket);
  socket.destroy();
}

async function stop(server: Server, use: Use, graceMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  use.closeUnused();
  const timer = setTimeout(() => server.closeAllConnections(), graceMs);
  await closed;
  clearTimeout(timer);
}

/** Connections whose last answer has started, although more may still arrive. */
const ending = new WeakSet<Socket>();

type AnswerHeaders = OutgoingHttpHeaders | OutgoingHttpHeader[];

/**
 * Makes an answer that starts before the whole request has arrived the last one on its connection, since the rest of
 * the unread body would precede the next request.
 */
class ClosingResponse extends ServerResponse {
  constructor(...settings: ConstructorParameters<typeof ServerResponse>) {
    super(...settings);
    this.setMaxListeners(MAX_LISTENERS);
  }

  override writeHead(status: number, reason?: string | AnswerHeaders, headers?: AnswerHeaders): this {
    const { req: request, headersSent } = this;
    if (!request.complete && !headersSent && hasBody(request) && !ending.has(request.socket)) {
      ending.add(request.socket);
      this.setHeader('Connection', 'close');
      endGently(request);
    }
    return typeof reason === 'string'
      ? super.writeHead(status, reason, headers)
      : super.writeHead(status, headers ?? reason);
  }
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/**
 * Closes only the sending side once the answer is sent, and goes on reading for a while: closing a connection with
 * unread bytes resets it, and the reset can overtake the answer.
 */
function endGently(request: IncomingMessage): void {
  const { socket } = request;
  const maxBytes = socket.bytesRead + LINGER_BYTES;
  let isEnding = false;
  socket.destroySoon = () => {
    if (isEnding) return;
    isEnding = true;
    if (socket.writable) socket.end();
    drop(request);
    const check = setInterval(() => {
      if (request.complete || socket.bytesRead > maxBytes) socket.destroy();
    }, LINGER_CHECK_MS);
    const timer = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once('close', () => {
      clearInterval(check);
      clearTimeout(timer);
    });
  };
}

/** Discards the rest of a request. */
function drop(request: IncomingMessage): void {
  request.unpipe();
  request.removeAllListeners('readable').removeAllListeners('data');
  // Node notices on the next tick that no listener is left.
  setImmediate(() => request.resume());
}

/** Answers data that is not HTTP, which never reaches the application, in the usual error envelope. */
function refuseGarbage(error: NodeJS.ErrnoException, socket: Socket): void {
  // The rest of a request that was refused, which the parser cannot read: its answer closes the connection.
  if (ending.has(socket)) return;
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  refuse(socket, error.code === 'HPE_HEADER_OVERFLOW' ? TOO_LARGE_REFUSAL : NO_HTTP_REFUSAL);
}

interface Refusal {
  readonly status: string;
  readonly message: string;
}

const NO_HTTP_REFUSAL: Refusal = { status: '400 Bad Request', message: 'The request is not valid HTTP.' };
const TOO_LARGE_REFUSAL: Refusal = {
  status: '431 Request Header Fields Too Large',
  message: `The headers of the request are too large. Send at most ${MAX_HEADER_BYTES / 1_024} KiB.`,
};

/** The `uri-host [ ":" port ]` of RFC 9110, section 7.2. The host may be empty. */
const HOST = /^(?:\[[\w.:~!$&'()*+,;=-]+\]|(?:[\w.~!$&'()*+,;=-]|%[\da-f]{2})*)(?::\d*)?$/i;

const HOST_REFUSAL =
  'The request needs exactly one Host header with a host name or an IP address, and optionally a port.';
const CODING_REFUSAL =
  'The body has a Transfer-Encoding that this server does not decode. Send a Content-Length, or Transfer-Encoding: chunked.';

/** Why a request that Node accepts is ambiguous, as a message for its client; null for any other request. */
function refusalOf({ headers, rawHeaders, httpVersion }: IncomingMessage): string | null {
  if (!hasValidHost(headers.host, rawHeaders, httpVersion)) return HOST_REFUSAL;
  // RFC 9112, section 6.1. Node ignores every coding before the last, and would pass on compressed bytes as the body.
  const coding = headers['transfer-encoding'];
  return coding === undefined || coding.toLowerCase() === 'chunked' ? null : CODING_REFUSAL;
}

/** RFC 9112, section 3.2. Servers in front may route by another Host than the one that this server reads. */
function hasValidHost(host: string | undefined, rawHeaders: readonly string[], httpVersion: string): boolean {
  if (host === undefined) return httpVersion !== '1.1';
  const count = rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === 'host').length;
  return count === 1 && HOST.test(host);
}

/** Answers after the requests before on the connection, and is the last answer. */
function refuseAndClose(socket: Socket, response: ServerResponse, message: string): void {
  const { headers, body } = envelope(message);
  response.writeHead(400, headers).end(body);
  ending.add(socket);
}

function refuse(socket: Socket, { status, message }: Refusal): void {
  const { headers, body } = envelope(message);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status}\r\n${lines.join('')}\r\n${body}`);
}

function envelope(message: string): {
  readonly headers: Readonly<Record<string, string | number>>;
  readonly body: string;
} {
  const requestId = newId('request');
  const body = JSON.stringify(presentError(new ServiceError('bad_request', message), requestId));
  const headers = {
    'Content-Type': 'application/json; charset=utf-8',
    'x-request-id': requestId,
    'Content-Length': Buffer.byteLength(body),
    Connection: 'close',
  };
  return { headers, body };
}
