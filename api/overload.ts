/** Refuses requests while more arrive than the process can answer, the least important ones first. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Admission, type Importance, WINDOW_MS } from '../domain/admission.ts';
import { errorHeaders, presentTypedError } from '../domain/error-envelope.ts';
import { ServiceError } from '../domain/errors.ts';
import { newId } from '../domain/ids.ts';
import { credentialIn } from './credential.ts';
import { isReadRequest } from './http-server.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { Caller } from '../db/queries/api-keys.ts';

export interface Overload {
  /** Answers excess requests with 503, and passes the others on. */
  guard(handler: Handler): Handler;
  /** Remembers the account of a request's credential. */
  learn(request: IncomingMessage, account: Pick<Caller['account'], 'id' | 'toppedUpAt'>): void;
  stop(): void;
}

type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<unknown>;

interface Customer {
  readonly id: string;
  readonly hasPaid: boolean;
}

/** All senders of unknown credentials count as one customer. */
const UNKNOWN_CUSTOMER: Customer = { id: 'stranger', hasPaid: false };
const MAX_CUSTOMERS = 10_000;
/** The interval of the meter, which is not part of the event loop's delay. Requests wait in sockets for that delay. */
const RESOLUTION_MS = 10;
const RETRY_AFTER_S = 2;
const REPORT_MS = 1_000;
/** A body up to this size has almost arrived. A longer one is not read, so the connection closes. */
const SMALL_BODY_BYTES = 65_536;
/** Paths of operators, probes and vendors, who send few requests. */
const ALWAYS_ADMITTED = /^\/(admin|console|healthz|readyz|metrics|status|v1\/provider-callbacks|v1\/payment-events)\b/;
/** The path of one resource, such as `/v1/tasks/{id}`, or of a part of it. */
const ONE_RESOURCE = /^\/(v1|v1beta)\/[^/?]+\/[^/?]+|^\/files\//;
/** Measures how long requests wait. */
interface WaitMeter {
  /** The average since the last call, in milliseconds. */
  read(): number;
  stop(): void;
}

/** Decides which requests to answer, by the time that requests wait in this process. */
export function createOverload(
  metrics: Metrics,
  {
    admission = new Admission(),
    wait = meterEventLoop(),
    onRefusal = () => {},
  }: {
    readonly admission?: Admission;
    readonly wait?: WaitMeter;
    /** Called about once a second while the process refuses requests. */
    readonly onRefusal?: () => void;
  } = {},
): Overload {
  let reportedAtMs = -Infinity;
  const report = (): void => {
    if (performance.now() - reportedAtMs < REPORT_MS) return;
    reportedAtMs = performance.now();
    onRefusal();
  };
  const customers = new Map<string, Customer>();
  let startedAtMs = performance.now();
  const timer = setInterval(() => {
    const endedAtMs = performance.now();
    admission.endWindow(wait.read(), endedAtMs - startedAtMs);
    startedAtMs = endedAtMs;
  }, WINDOW_MS).unref();

  return {
    guard: (handler) => async (request, response) => {
      if (ALWAYS_ADMITTED.test(request.url ?? '')) return handler(request, response);
      const { id, hasPaid } = customers.get(credentialIn(request.headers)) ?? UNKNOWN_CUSTOMER;
      const importance = importanceOf(request, hasPaid);
      if (admission.takes(importance, id)) return handler(request, response);
      metrics.requestShed(importance);
      report();
      return refuse(request, response);
    },
    learn: (request, { id, toppedUpAt }) => {
      const credential = credentialIn(request.headers);
      const hasPaid = toppedUpAt !== null;
      const known = customers.get(credential);
      if (known?.id === id && known.hasPaid === hasPaid) return;
      if (!known && customers.size >= MAX_CUSTOMERS) customers.clear();
      customers.set(credential, { id, hasPaid });
    },
    stop: () => {
      clearInterval(timer);
      wait.stop();
    },
  };
}

/** Averages over time, not over iterations of the event loop: more requests arrive during a long iteration. */
function meterEventLoop(): WaitMeter {
  let startedAtMs = performance.now();
  let [weightedMs, lengthMs] = [0, 0];
  const timer = setInterval(() => {
    const endedAtMs = performance.now();
    const turnMs = endedAtMs - startedAtMs;
    weightedMs += turnMs * Math.max(0, turnMs - RESOLUTION_MS);
    lengthMs += turnMs;
    startedAtMs = endedAtMs;
  }, RESOLUTION_MS).unref();
  return {
    read: () => {
      const waitMs = lengthMs === 0 ? 0 : weightedMs / lengthMs;
      [weightedMs, lengthMs] = [0, 0];
      return waitMs;
    },
    stop: () => clearInterval(timer),
  };
}

function importanceOf(request: IncomingMessage, hasPaid: boolean): Importance {
  const kind = isReadRequest(request) ? (ONE_RESOURCE.test(request.url ?? '') ? 'poll' : 'list') : 'work';
  return hasPaid ? kind : `free ${kind}`;
}

/** Answers at a fraction of the application's cost, with the fields that clients of every format read. */
function refuse(request: IncomingMessage, response: ServerResponse): void {
  const refusal = new ServiceError(
    'processing_unavailable',
    `The service is overloaded. Try again in ${RETRY_AFTER_S} seconds.`,
    { retryAfterSeconds: RETRY_AFTER_S },
  );
  const requestId = newId('request');
  const body = JSON.stringify({ type: 'error', ...presentTypedError(refusal, requestId) });
  const answer = (): void => {
    response.writeHead(refusal.status, {
      'content-type': 'application/json; charset=utf-8',
      'content-length': Buffer.byteLength(body),
      'x-request-id': requestId,
      ...errorHeaders(refusal),
    });
    response.end(body);
  };
  // An answer before the end of the body closes the connection. A new one costs more than the rest of a small body.
  if (Number(request.headers['content-length'] ?? 0) <= SMALL_BODY_BYTES) request.resume().once('end', answer);
  else answer();
}
