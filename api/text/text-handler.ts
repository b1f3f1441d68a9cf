/**
 * The text endpoints on plain HTTP, in front of whatever else answers on the same port. Koa, its context and its router would
 * cost as much as all the rest of a short request.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isUnavailable } from '../../db/connections.ts';
import { newId } from '../../domain/ids.ts';
import { toGateError } from '../middlewares/errors.ts';
import { REJECTION, userAgentCheck } from '../middlewares/reject-user-agent.ts';
import { methodNotAllowed } from '../../domain/errors.ts';
import { presentError } from '../../domain/error-envelope.ts';
import { admit, type TextCall } from './admit.ts';
import { deliver } from './deliver.ts';
import { watchDepartures } from './departures.ts';
import { targetOf } from './endpoints.ts';
import { pathOf, sendError } from './http.ts';
import { observe } from './observe.ts';
import type { TextServices } from './services.ts';

type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<unknown>;

export interface TextHandler {
  /** Answers requests for text endpoints, and leaves all others to `next`. */
  before(next: Handler): Handler;
  /** Resolves when no request is under way, nor any that its client left behind. */
  idle(): Promise<void>;
  /** To be called before all connections are closed in `graceMs`: who loses its connection then has not left. */
  stop(graceMs: number): void;
}

export function createTextHandler(services: TextServices): TextHandler {
  const isRejected = userAgentCheck(services.settings.rejectedUserAgents);
  const underWay = new Set<Promise<void>>();
  const departures = watchDepartures(services.settings.readOnMs);

  async function serve(call: TextCall): Promise<void> {
    const refusal = refusalOf(call, isRejected);
    if (refusal !== null) return refusal();
    let admitted;
    try {
      admitted = await admit(call, services);
    } catch (error) {
      return refuse(call, error, services);
    }
    await deliver(admitted, services, departures);
  }

  return {
    before: (next) => (request, response) => {
      const target = targetOf(pathOf(request));
      if (target === null) return next(request, response);
      const requestId = newId('request');
      const headers = { 'x-request-id': requestId };
      const startedAtMs = services.clock.nowMs();
      const timedFromMs = performance.now();
      const call: TextCall = { target, request, response, requestId, startedAtMs, timedFromMs, headers };
      observe(call, services);
      const served = serve(call);
      underWay.add(served);
      return served.finally(() => underWay.delete(served));
    },
    idle: async () => {
      await Promise.allSettled(underWay);
    },
    stop: (graceMs) => departures.stop(graceMs),
  };
}

/** How a request is turned away that has no business here, whatever it holds; null when it has. */
function refusalOf(
  { request, response, headers, requestId }: TextCall,
  isRejected: (userAgent: string) => boolean,
): (() => void) | null {
  if (isRejected(request.headers['user-agent'] ?? '')) {
    return () =>
      void response.writeHead(403, { ...headers, 'content-type': 'text/plain; charset=utf-8' }).end(REJECTION);
  }
  const { method = '' } = request;
  if (method === 'POST') return null;
  if (method === 'OPTIONS') return () => void response.writeHead(204, { ...headers, Allow: 'POST' }).end();
  const error = methodNotAllowed(method, pathOf(request), 'POST');
  return () => sendError(response, error, headers, presentError(error, requestId));
}

/**
 * An error before the model is called: what the gate refuses has the common envelope, what is wrong with the request that of
 * its format (specification section 7.1).
 */
function refuse({ target, response, headers, requestId }: TextCall, thrown: unknown, { log }: TextServices): void {
  const error = toGateError(thrown);
  if (error.code === 'internal_error' || isUnavailable(error.cause))
    log.error({ err: thrown, request_id: requestId }, 'text request failed');
  const body =
    error.code === 'bad_request'
      ? target.endpoint.format.client.renderError(error, requestId)
      : presentError(error, requestId);
  sendError(response, error, headers, body);
}
