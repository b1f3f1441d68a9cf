/** A small router over node:http: reads bodies, finds the route, and turns refusals into JSON. */
import type { IncomingHttpHeaders, IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { parseUrl } from '../domain/parse-url.ts';

const MAX_BODY_BYTES = 64 * 2 ** 20;

/** One request with its body read. */
export interface SimulatorRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** The values of the placeholders in the route's path. */
  readonly parameters: Readonly<Record<string, string>>;
  /** Additions to the request log; a handler may add to them at any time. */
  readonly notes: Record<string, unknown>;
}

export type Handler = (request: SimulatorRequest, response: ServerResponse) => void | Promise<void>;

export interface Route {
  readonly method: string;
  /** `{name}` stands for one segment or a part of it: `/v1beta/models/{model}:generateContent`. */
  readonly path: string;
  readonly handle: Handler;
}

export function route(method: string, path: string, handle: Handler): Route {
  return { method, path, handle };
}

/** Answers the request with that status and `{error: {code, message}}`. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly status: number;
  readonly code: string;
  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/**
 * @param routes tried in order; the first match answers
 * @param onRequest called for every request with its body, whether a route matches or not
 */
export function createRouter(
  routes: readonly Route[],
  onRequest: (request: SimulatorRequest) => void,
): RequestListener {
  const table = routes.map((route) => ({ ...route, pattern: compilePath(route.path) }));

  const answer = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const request = await readRequest(incoming);
    onRequest(request);
    for (const { method, pattern, handle } of table) {
      const match = method === request.method ? pattern.exec(request.url.pathname) : null;
      if (match) return handle({ ...request, parameters: decodeParameters(match.groups ?? {}) }, response);
    }
    throw new Refusal(404, 'not_found', `the simulator has no ${request.method} ${request.url.pathname}`);
  };

  return (incoming, response) => {
    answer(incoming, response).catch((error: unknown) => sendFailure(response, error));
  };
}

/** The body as JSON. @throws Refusal 400 if it is not JSON */
export function parseJson(request: SimulatorRequest): unknown {
  try {
    return JSON.parse(request.body.toString('utf8'));
  } catch {
    throw new Refusal(400, 'bad_request', 'the body is not valid JSON');
  }
}

export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  const text = JSON.stringify(body);
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) });
  response.end(text);
}

/** Drops the connection without an answer, as a crashed upstream would. */
export function dropConnection(response: ServerResponse): void {
  response.socket?.destroy();
}

function compilePath(path: string): RegExp {
  const source = path.split(/\{(\w+)\}/).map((part, index) => (index % 2 === 0 ? escape(part) : `(?<${part}>[^/]+)`));
  return new RegExp(`^${source.join('')}$`);
}

function escape(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

function decodeParameters(groups: Readonly<Record<string, string>>): Record<string, string> {
  try {
    return Object.fromEntries(Object.entries(groups).map(([name, value]) => [name, decodeURIComponent(value)]));
  } catch {
    throw new Refusal(400, 'bad_request', 'the path is not valid percent-encoding');
  }
}

async function readRequest(incoming: IncomingMessage): Promise<SimulatorRequest> {
  const body = await readBody(incoming);
  const target = incoming.url ?? '/';
  const url = parseUrl(target, 'http://simulator');
  if (url === null) throw new Refusal(400, 'bad_request', 'the address is not valid');
  return {
    method: incoming.method ?? 'GET',
    url,
    headers: incoming.headers,
    body,
    parameters: {},
    notes: {},
  };
}

/** Listens for events: iterating over the body would cost more than everything else about a small request. */
function readBody(incoming: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const take = (chunk: Buffer): void => {
      bytes += chunk.length;
      chunks.push(chunk);
      if (bytes <= MAX_BODY_BYTES) return;
      incoming.off('data', take).pause();
      reject(new Refusal(413, 'read_request_body_failed', 'the body is too large'));
    };
    incoming.on('data', take);
    incoming.once('end', () => resolve(Buffer.concat(chunks)));
    incoming.once('error', reject);
  });
}

function sendFailure(response: ServerResponse, error: unknown): void {
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  const refusal = error instanceof Refusal ? error : new Refusal(500, 'internal_error', String(error));
  if (refusal.status === 413) response.setHeader('connection', 'close');
  sendJson(response, refusal.status, { error: { code: refusal.code, message: refusal.message } });
}
