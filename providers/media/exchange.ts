/** One HTTP exchange, limited in time and size: returns an answer or throws {@link ProviderUnreachableError}. */
import { Readable } from 'node:stream';
import { request, type Dispatcher } from 'undici';
import { isObject } from '../../domain/json.ts';
import { USER_AGENT } from '../../domain/user-agent.ts';
import { ProviderUnreachableError } from './outcomes.ts';
import { retryAfterMs } from './retry-after.ts';

/** 4xx statuses after which a retry may succeed. */
const TRANSIENT_STATUSES: readonly number[] = [408, 425, 429];

export interface Exchange {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  readonly dispatcher: Dispatcher;
  /** For the whole exchange. */
  readonly timeoutMs: number;
  readonly maxResponseBytes: number;
  /** Uses a connection of its own, without keep-alive. */
  readonly freshConnection?: boolean;
  /** Called before the first byte of the body is sent. */
  readonly onSending?: () => void;
}

export interface Answer {
  readonly status: number;
  /** By name in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The parsed body; undefined if it is empty or not JSON. */
  readonly document: unknown;
}

/**
 * @param signal throws its reason if it is aborted
 * @throws ProviderUnreachableError for socket errors, timeouts and answers that are too large
 */
export async function exchange(options: Exchange, signal: AbortSignal): Promise<Answer> {
  return wrapNetworkErrors(signal, () => withDeadline(signal, options.timeoutMs, (bounded) => send(options, bounded)));
}

/** Whether a 4xx status is final. */
export function isVerdict(status: number): boolean {
  return status >= 400 && status < 500 && !TRANSIENT_STATUSES.includes(status);
}

export function isSuccess({ status }: Pick<Answer, 'status'>): boolean {
  return status >= 200 && status < 300;
}

/** The document in an answer. @throws ProviderUnreachableError unless the answer is successful JSON */
export function documentOf(answer: Answer): unknown {
  if (!isSuccess(answer)) throw unreachableStatusError(answer);
  if (answer.document === undefined) {
    throw new ProviderUnreachableError('the upstream answered with something that is not JSON');
  }
  return answer.document;
}

/** Whether the upstream itself answers that the job does not exist: a proxy's 404 is not JSON. */
export function isMissing({ status, document }: Answer): boolean {
  return status === 404 && isObject(document);
}

/** Checks the answer to a cancellation. @param ended statuses of a job that has ended or cannot be stopped */
export function assertCancelled(answer: Answer, ended: readonly number[]): void {
  if (!isSuccess(answer) && !ended.includes(answer.status)) throw unreachableStatusError(answer);
}

/** The error for an answer whose status is no verdict, with the wait that the answer asks for. */
export function unreachableStatusError(
  answer: Pick<Answer, 'status' | 'headers' | 'document'>,
): ProviderUnreachableError {
  return new ProviderUnreachableError(`the upstream answered ${answer.status}`, { retryAfterMs: retryAfterMs(answer) });
}

/** Turns every failure of `action` into {@link ProviderUnreachableError}, except an abort of `signal`. */
export async function wrapNetworkErrors<Result>(signal: AbortSignal, action: () => Promise<Result>): Promise<Result> {
  signal.throwIfAborted();
  try {
    return await action();
  } catch (error) {
    signal.throwIfAborted();
    throw toUnreachableError(error);
  }
}

export function toUnreachableError(error: unknown): ProviderUnreachableError {
  if (error instanceof ProviderUnreachableError) return error;
  return new ProviderUnreachableError('Genway cannot reach the upstream', { cause: error });
}

async function send(options: Exchange, signal: AbortSignal): Promise<Answer> {
  const { statusCode, headers, body } = await request(options.url, {
    method: options.method,
    headers: {
      accept: 'application/json',
      // Without the header, a server may compress its answer (RFC 9110, section 12.5.3).
      'accept-encoding': 'identity',
      'user-agent': USER_AGENT,
      ...(options.body && { 'content-length': String(options.body.byteLength) }),
      ...options.headers,
    },
    body: options.body ? Readable.from(announced(options.body, options.onSending), { objectMode: false }) : null,
    dispatcher: options.dispatcher,
    ...(options.freshConnection && { reset: true }),
    // The exchange has its own deadline.
    headersTimeout: 0,
    bodyTimeout: 0,
    signal,
  });
  const bytes = await readBounded(body, options.maxResponseBytes);
  return { status: statusCode, headers: flattenHeaders(headers), document: parseDocument(bytes) };
}

/** undici reads the body only once the connection is open: until then the upstream has seen nothing. */
async function* announced(bytes: Uint8Array, onSending?: () => void): AsyncGenerator<Uint8Array> {
  onSending?.();
  yield bytes;
}

/** Throwing out of the loop destroys the stream and its connection. */
async function readBounded(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > maxBytes) throw new ProviderUnreachableError(`the upstream answered with more than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function parseDocument(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return undefined;
  }
}

export function flattenHeaders(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name.toLowerCase(), Array.isArray(value) ? value.join(', ') : value]],
    ),
  );
}

/**
 * Calls `action` with a signal that also fires after a timeout. Unlike `AbortSignal.any`, leaves no listener on a
 * long-lived signal.
 */
async function withDeadline<Result>(
  signal: AbortSignal,
  timeoutMs: number,
  action: (bounded: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const controller = new AbortController();
  const abort = (): void => controller.abort(signal.reason);
  const timer = setTimeout(
    () => controller.abort(new ProviderUnreachableError('the upstream took too long')),
    timeoutMs,
  );
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await action(controller.signal);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', abort);
  }
}
