/** Refuses requests, the least important ones first, while more arrive than the process can answer. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Admission, type Importance, WINDOW_MS } from '../domain/admission.ts';
import { errorHeaders, presentTypedError } from '../domain/error-envelope.ts';
import { ServiceError } from '../domain/errors.ts';
import { newId } from '../domain/ids.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { Caller } from '../db/queries/api-keys.ts';

export interface Overload {
  /** Refuses requests with 503 that the process has no time for, and passes the others on. */
  guard(handler: Handler): Handler;
  /** Remembers whose credential a request had. */
  learn(request: IncomingMessage, account: Pick<Caller['account'], 'id' | 'toppedUpAt'>): void;
  stop(): void;
}

type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<unknown>;

interface Customer {
  readonly id: string;
  readonly hasPaid: boolean;
}

/** Strangers, who may send any credential, count as one customer. */
const STRANGER: Customer = { id: 'stranger', hasPaid: false };
const MOST_CUSTOMERS = 10_000;
/** The delay of the event loop is how long requests wait in its sockets. The histogram counts its own interval as delay. */
const RESOLUTION_MS = 10;
const RETRY_AFTER_S = 2;
/** A body of this size has arrived, or nearly; without reading a longer one, the connection ends. */
const SMALL_BODY_BYTES = 65_536;
/** Operators, probes and vendors, who are few. */
const ALWAYS_ADMITTED = /^\/(admin|console|healthz|readyz|metrics|status|v1\/provider-callbacks|v1\/payment-events)\b/;
/** One resource, such as `/v1/tasks/{id}`, or what belongs to it. */
const ONE_RESOURCE = /^\/(v1|v1beta)\/[^/?]+\/[^/?]+|^\/files\//;
const READS: readonly (string | undefined)[] = ['GET', 'HEAD'];
/** Where credentials are, in the order of their frequency. */
const CREDENTIAL_HEADERS = ['authorization', 'x-api-key', 'x-goog-api-key', 'x-native-api-key'] as const;

/** How long requests wait. */
interface WaitMeter {
  /** The average since the last call, in milliseconds. */
  read(): number;
  stop(): void;
}

/** Decides which requests to answer by how long they wait in this process. */
export function createOverload(
  metrics: Metrics,
  { admission = new Admission(), wait = meterEventLoop() }: { admission?: Admission; wait?: WaitMeter } = {},
): Overload {
  const customers = new Map<string, Customer>();
  let beganAtMs = performance.now();
  const timer = setInterval(() => {
    const endedAtMs = performance.now();
    admission.endWindow(wait.read(), endedAtMs - beganAtMs);
    beganAtMs = endedAtMs;
  }, WINDOW_MS).unref();

  return {
    guard: (handler) => async (request, response) => {
      if (ALWAYS_ADMITTED.test(request.url ?? '')) return handler(request, response);
      const { id, hasPaid } = customers.get(credentialOf(request)) ?? STRANGER;
      const importance = importanceOf(request, hasPaid);
      if (admission.takes(importance, id)) return handler(request, response);
      metrics.requestShed(importance);
      return refuse(request, response);
    },
    learn: (request, { id, toppedUpAt }) => {
      const credential = credentialOf(request);
      const hasPaid = toppedUpAt !== null;
      const known = customers.get(credential);
      if (known?.id === id && known.hasPaid === hasPaid) return;
      if (!known && customers.size >= MOST_CUSTOMERS) customers.clear();
      customers.set(credential, { id, hasPaid });
    },
    stop: () => {
      clearInterval(timer);
      wait.stop();
    },
  };
}

/** Averages over time, not over turns of the event loop: more requests arrive during a long turn. */
function meterEventLoop(): WaitMeter {
  let beganAtMs = performance.now();
  let [weightedMs, lengthMs] = [0, 0];
  const timer = setInterval(() => {
    const endedAtMs = performance.now();
    const turnMs = endedAtMs - beganAtMs;
    weightedMs += turnMs * Math.max(0, turnMs - RESOLUTION_MS);
    lengthMs += turnMs;
    beganAtMs = endedAtMs;
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

function credentialOf({ headers }: IncomingMessage): string {
  for (const name of CREDENTIAL_HEADERS) {
    const value = headers[name];
    if (value !== undefined) return String(value);
  }
  return '';
}

function importanceOf({ method, url = '' }: IncomingMessage, hasPaid: boolean): Importance {
  const what = READS.includes(method) ? (ONE_RESOURCE.test(url) ? 'poll' : 'list') : 'work';
  return hasPaid ? what : `free ${what}`;
}

/** Costs a fraction of an answer of the application. The body has the fields that clients of every format read. */
function refuse(request: IncomingMessage, response: ServerResponse): void {
  const refusal = new ServiceError(
    'processing_unavailable',
    `The service has more requests than it can answer. Try again in ${RETRY_AFTER_S} seconds.`,
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
  // An answer before the end of the body would end the connection, and a new one costs more than the rest of a small body.
  if (Number(request.headers['content-length'] ?? 0) <= SMALL_BODY_BYTES) request.resume().once('end', answer);
  else answer();
}
