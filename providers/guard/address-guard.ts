/**
 * Sends all requests to addresses that clients or providers chose: webhook endpoints, image links and providers' result
 * links. Checks the text of the link and of every redirect, while `guarded-connector.ts` checks every connection, so
 * neither a redirect nor a name that changes between check and use reaches a private network. Bounds sizes and times.
 */
import { Agent, request as send } from 'undici';
import type { Dispatcher } from 'undici';
import { USER_AGENT } from '../../domain/user-agent.ts';
import { createGuardedConnector, createPinnedConnector, resolveWithSystem } from './guarded-connector.ts';
import type { Resolve } from './guarded-connector.ts';
import { assertPublicHttpsUrl } from './public-url.ts';
import type { AddressPolicy } from './public-url.ts';
import { parseUrl } from '../../domain/parse-url.ts';

export { AddressRefusedError, assertPublicHttpsUrl } from './public-url.ts';
export type { AddressPolicy } from './public-url.ts';

export interface GuardedClientOptions extends AddressPolicy {
  /** Resolves host names; the system's resolver by default. */
  readonly resolve?: Resolve;
  /** Certificate authorities to trust instead of the usual ones, as PEM text. */
  readonly certificateAuthorities?: string;
}

export interface GuardedRequest {
  /** `GET` by default. */
  readonly method?: Dispatcher.HttpMethod;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** Reading the body fails once more bytes than this have arrived. */
  readonly maxBytes: number;
  /** The time from the first connection to the last byte of the body, including redirects. */
  readonly timeoutMs: number;
  /** The maximum silence before the answer and within its body; `timeoutMs` by default. */
  readonly idleTimeoutMs?: number;
  /** The number of redirects of a GET or HEAD to follow, 0 by default; returns other redirects unchanged. */
  readonly redirects?: number;
  readonly signal?: AbortSignal;
}

export interface GuardedResponse {
  readonly status: number;
  /** By name in lower case; the values of a repeated header are joined by `, `. */
  readonly headers: Readonly<Record<string, string>>;
  /** The link that answered, after redirects. */
  readonly url: string;
  /** The caller must read the body to its end or cancel it. Fails with the errors of {@link GuardedClient.request}. */
  readonly body: ReadableStream<Uint8Array>;
}

export interface GuardedClient {
  /**
   * Sends one request.
   *
   * @throws AddressRefusedError if the link, a redirect or an address is not public
   * @throws TimeoutError after `timeoutMs`; BodyTooLargeError; TooManyRedirectsError
   * @throws Error for network errors: refused, reset, silent, a bad certificate, …
   */
  request(url: string, options: GuardedRequest): Promise<GuardedResponse>;
  /** Guards the connections of other HTTP code, but not links, sizes and times. */
  readonly dispatcher: Dispatcher;
  /** Closes all connections. */
  close(): Promise<void>;
}

/** The whole exchange took longer than `timeoutMs`. */
export class TimeoutError extends Error {
  override readonly name = 'TimeoutError';
}

/** More bytes than `maxBytes` arrived. */
export class BodyTooLargeError extends Error {
  override readonly name = 'BodyTooLargeError';
}

/** There were more redirects than allowed. */
class TooManyRedirectsError extends Error {
  override readonly name = 'TooManyRedirectsError';
}

const REDIRECT_STATUSES: readonly number[] = [301, 302, 303, 307, 308];
/** Headers that are not sent to another origin after a redirect. */
const CREDENTIAL_HEADERS: readonly string[] = ['authorization', 'cookie', 'proxy-authorization', 'x-api-key'];

/** Creates a client that checks every connection. Share the client, which keeps connections open for reuse. */
export function createGuardedClient(options: GuardedClientOptions): GuardedClient {
  const { resolve = resolveWithSystem, certificateAuthorities, allowPrivateAddresses } = options;
  const policy = { allowPrivateAddresses };
  const connect = createGuardedConnector({ policy, resolve, open: createPinnedConnector(certificateAuthorities) });
  const dispatcher = new Agent({ connect });
  return {
    dispatcher,
    request: (url, requestOptions) => requestWithin(dispatcher, policy, url, requestOptions),
    close: () => dispatcher.destroy(),
  };
}

/** Makes one exchange with one deadline, which covers the body. */
async function requestWithin(
  dispatcher: Dispatcher,
  policy: AddressPolicy,
  url: string,
  options: GuardedRequest,
): Promise<GuardedResponse> {
  const deadline = startDeadline(options.timeoutMs, options.signal);
  try {
    const { response, finalUrl } = await followRedirects(dispatcher, policy, url, options, deadline.signal);
    return {
      status: response.statusCode,
      headers: flattenHeaders(response.headers),
      url: finalUrl.href,
      body: capBody(response.body, options.maxBytes, deadline.end),
    };
  } catch (error) {
    deadline.end();
    throw error;
  }
}

async function followRedirects(
  dispatcher: Dispatcher,
  policy: AddressPolicy,
  text: string,
  options: GuardedRequest,
  signal: AbortSignal,
): Promise<{ response: Dispatcher.ResponseData; finalUrl: URL }> {
  const { method = 'GET', body = null, redirects = 0, idleTimeoutMs = options.timeoutMs } = options;
  const mayFollow = redirects > 0 && (method === 'GET' || method === 'HEAD');
  let headers: Readonly<Record<string, string>> = {
    'accept-encoding': 'identity',
    'user-agent': USER_AGENT,
    ...options.headers,
  };
  let url = assertPublicHttpsUrl(text, policy);
  for (let followed = 0; ; followed += 1) {
    signal.throwIfAborted();
    const silence = { headersTimeout: idleTimeoutMs, bodyTimeout: idleTimeoutMs };
    const response = await unlessAborted(send(url, { dispatcher, method, headers, body, signal, ...silence }), signal);
    const location = response.headers['location'];
    if (!mayFollow || !REDIRECT_STATUSES.includes(response.statusCode) || typeof location !== 'string') {
      return { response, finalUrl: url };
    }
    discard(response.body);
    if (followed === redirects) throw new TooManyRedirectsError(`more than ${redirects} redirects`);
    const next = assertPublicHttpsUrl(resolveLocation(location, url), policy);
    if (next.origin !== url.origin) headers = withoutCredentials(headers);
    url = next;
  }
}

/** Resolves a relative location. Leaves a full one as written, so that the guard checks its original text. */
function resolveLocation(location: string, base: URL): string {
  if (/^[a-z][a-z0-9+.-]*:/i.test(location)) return location;
  return parseUrl(location, base)?.href ?? location;
}

function withoutCredentials(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => !CREDENTIAL_HEADERS.includes(name.toLowerCase())),
  );
}

/** A signal that fires after `timeoutMs` or with `outer`, until `end` is called. */
function startDeadline(timeoutMs: number, outer: AbortSignal | undefined): { signal: AbortSignal; end: () => void } {
  const controller = new AbortController();
  const cancel = () => controller.abort(outer?.reason);
  const timer = setTimeout(() => controller.abort(new TimeoutError(`no end after ${timeoutMs} ms`)), timeoutMs);
  if (outer?.aborted) cancel();
  outer?.addEventListener('abort', cancel, { once: true });
  const end = () => {
    clearTimeout(timer);
    outer?.removeEventListener('abort', cancel);
  };
  return { signal: controller.signal, end };
}

/** Stops waiting when `signal` fires: undici itself reacts only once it has a connection. */
function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    promise.then(resolve, reject);
  });
}

/** The body as a pull stream, so that a slow reader slows the sender down. Fails beyond `maxBytes`. */
function capBody(
  body: Dispatcher.ResponseData['body'],
  maxBytes: number,
  onEnd: () => void,
): ReadableStream<Uint8Array> {
  const chunks: AsyncIterator<Uint8Array> = body[Symbol.asyncIterator]();
  let receivedBytes = 0;
  // The iterator reports failures; without a listener, a failure before the first read would crash the process.
  body.on('error', () => {});
  const stop = () => {
    onEnd();
    discard(body);
  };
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { value, done } = await chunks.next().catch((error: unknown) => {
          onEnd();
          throw error;
        });
        if (done === true) {
          onEnd();
          return controller.close();
        }
        receivedBytes += value.byteLength;
        if (receivedBytes <= maxBytes) return controller.enqueue(value);
        stop();
        throw new BodyTooLargeError(`more than ${maxBytes} bytes`);
      },
      cancel: stop,
    },
    { highWaterMark: 0 },
  );
}

/** Drops the rest of a body and its connection, and ignores errors. */
function discard(body: Dispatcher.ResponseData['body']): void {
  body.on('error', () => {}).destroy();
}

function flattenHeaders(headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> {
  const flat: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) flat[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return flat;
}
