/** What serving text asks of plain HTTP: it does without Koa, which would take half of the time of a request. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ServiceError } from '../../domain/errors.ts';
import { byteLengthOf, type WrittenJson } from '../../text/json/write.ts';
import { errorHeaders } from '../../domain/error-envelope.ts';

/** The path of a request, without its query. */
export function pathOf({ url = '' }: IncomingMessage): string {
  const query = url.indexOf('?');
  return query === -1 ? url : url.slice(0, query);
}

/** The query of a request. */
export function queryOf({ url = '' }: IncomingMessage): URLSearchParams {
  const query = url.indexOf('?');
  return new URLSearchParams(query === -1 ? '' : url.slice(query + 1));
}

/** The address of the client: of `X-Forwarded-For`, only what the trusted proxies appended is believed. */
export function clientAddress({ headers, socket }: IncomingMessage, trustedProxies: number): string {
  const direct = socket.remoteAddress ?? '';
  const forwarded = headers['x-forwarded-for'];
  if (trustedProxies === 0 || forwarded === undefined) return direct;
  const addresses = String(forwarded).split(',');
  return addresses.slice(-trustedProxies)[0]?.trim() || direct;
}

export type Headers = Readonly<Record<string, string>>;

export function sendJson(response: ServerResponse, status: number, headers: Headers, body: WrittenJson): void {
  response.writeHead(status, {
    ...headers,
    'content-type': 'application/json; charset=utf-8',
    'content-length': byteLengthOf(body),
  });
  for (const piece of typeof body === 'string' ? [body] : body) response.write(piece);
  response.end();
}

/** @param body the error in the envelope that it is to have */
export function sendError(response: ServerResponse, error: ServiceError, headers: Headers, body: object): void {
  sendJson(response, error.status, { ...headers, ...errorHeaders(error) }, JSON.stringify(body));
}
