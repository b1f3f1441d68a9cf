/** One short HTTP exchange with an upstream: bounded in time and in bytes, and either an answer or "unreachable". */
import { request, type Dispatcher } from 'undici';
import { ProviderUnreachableError } from '../media-provider.ts';

/** Statuses of 4xx that say "later", not "no". */
const TRANSIENT_STATUSES: readonly number[] = [408, 425, 429];

export interface Exchange {
  readonly method: 'GET' | 'POST';
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: object;
  readonly dispatcher: Dispatcher;
  /** For the whole exchange. */
  readonly timeoutMs: number;
  readonly maxResponseBytes: number;
}

export interface Answer {
  /** 2xx or a 4xx that is a verdict. */
  readonly status: number;
  /** The parsed body; undefined when it is empty or, under a 4xx, not JSON. */
  readonly document: unknown;
}

/**
 * @param signal the caller's; when it is aborted, its reason is thrown
 * @throws ProviderUnreachableError for socket errors, timeouts, statuses that are no verdict, and answers that are too large or not JSON
 */
export async function exchange(options: Exchange, signal: AbortSignal): Promise<Answer> {
  return unlessAborted(signal, () => withDeadline(signal, options.timeoutMs, (bounded) => send(options, bounded)));
}

/** Whether a 4xx is the upstream's last word. */
export function isVerdict(status: number): boolean {
  return status >= 400 && status < 500 && !TRANSIENT_STATUSES.includes(status);
}

/** Turns every failure of `action` into "unreachable", save what it says itself and the caller's own abort. */
export async function unlessAborted<Result>(signal: AbortSignal, action: () => Promise<Result>): Promise<Result> {
  signal.throwIfAborted();
  try {
    return await action();
  } catch (error) {
    signal.throwIfAborted();
    throw asUnreachable(error);
  }
}

export function asUnreachable(error: unknown): ProviderUnreachableError {
  if (error instanceof ProviderUnreachableError) return error;
  return new ProviderUnreachableError('the upstream could not be reached', { cause: error });
}

async function send(options: Exchange, signal: AbortSignal): Promise<Answer> {
  const { statusCode, body } = await request(options.url, {
    method: options.method,
    headers: {
      accept: 'application/json',
      ...(options.body ? { 'content-type': 'application/json' } : {}),
      ...options.headers,
    },
    body: options.body ? JSON.stringify(options.body) : null,
    dispatcher: options.dispatcher,
    signal,
  });
  const bytes = await readBounded(body, options.maxResponseBytes);
  const isSuccess = statusCode >= 200 && statusCode < 300;
  if (!isSuccess && !isVerdict(statusCode)) throw new ProviderUnreachableError(`the upstream answered ${statusCode}`);
  return { status: statusCode, document: parseDocument(bytes, isSuccess) };
}

/** Leaving the loop early destroys the stream, and with it the connection. */
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

function parseDocument(bytes: Buffer, mustBeJson: boolean): unknown {
  if (bytes.length === 0) return undefined;
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch (error) {
    if (mustBeJson)
      throw new ProviderUnreachableError('the upstream answered with something that is not JSON', { cause: error });
    return undefined;
  }
}

/** A signal that also ends after a while. Unlike `AbortSignal.any` it leaves nothing on a signal that lives for hours. */
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
