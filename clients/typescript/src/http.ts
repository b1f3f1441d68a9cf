/** Requests with retries. */
import { APIConnectionError, APIError, errorOf, GenwayError, reportedIn } from './errors.ts';
import { type Bytes, readBytes } from './bytes.ts';
import { type Events, readEvents } from './events.ts';
import { Limits, MAX_TIMER_MS } from './limits.ts';

export interface ClientOptions {
  /** Defaults to the environment variable `GENWAY_API_KEY`. */
  readonly apiKey?: string;
  /** Defaults to the environment variable `GENWAY_BASE_URL`. */
  readonly baseUrl?: string;
  /** The address for text; defaults to `GENWAY_TEXT_BASE_URL`, or else the base URL. */
  readonly textBaseUrl?: string;
  /** Retries of a request that failed for a moment. Defaults to 3. */
  readonly maxRetries?: number;
  /** The time limit of one attempt, for a stream until it starts. Defaults to a minute, for text to ten. */
  readonly timeoutMs?: number;
  readonly fetch?: typeof fetch;
}

export interface RequestOptions {
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
  readonly maxRetries?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** For calls that create something. By default, the client makes one for each call, and keeps it for retries. */
  readonly idempotencyKey?: string;
}

export interface Call {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly query?: object;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Sent as it is, with its content type. A stream can be sent only once. */
  readonly form?: () => { readonly body: FormData | ReadableStream<Uint8Array>; readonly contentType?: string };
  readonly canRepeatForm?: boolean;
  readonly isText?: boolean;
  /** Whether a POST changes nothing. */
  readonly isRead?: boolean;
  /** Whether the API knows idempotency keys for this call. */
  readonly takesKey?: boolean;
}

const MINUTE_MS = 60_000;
const TEXT_MINUTES = 10;
const FIRST_PAUSE_MS = 500;
const MAX_PAUSE_MS = 30_000;
const MAX_ASKED_MS = 300_000;
/** The statuses of Genway and the proxies before it for requests that may be sent again. */
const RETRYABLE: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504]);

export class Http {
  readonly #apiKey: string;
  readonly #baseUrl: string;
  readonly #textBaseUrl: string;
  readonly #maxRetries: number;
  readonly #timeoutMs: number | undefined;
  readonly #fetch: typeof fetch;

  constructor(options: ClientOptions) {
    const { apiKey = variable('GENWAY_API_KEY'), baseUrl = variable('GENWAY_BASE_URL') } = options;
    if (!apiKey) throw new TypeError('Pass apiKey, or set GENWAY_API_KEY.');
    if (!baseUrl) throw new TypeError('Pass baseUrl, or set GENWAY_BASE_URL.');
    this.#apiKey = apiKey;
    this.#baseUrl = withoutSlash(baseUrl);
    this.#textBaseUrl = withoutSlash(options.textBaseUrl ?? variable('GENWAY_TEXT_BASE_URL') ?? baseUrl);
    this.#maxRetries = options.maxRetries ?? 3;
    this.#timeoutMs = options.timeoutMs;
    // Browsers call it only by its own name.
    this.#fetch = options.fetch ?? ((...request) => fetch(...request));
  }

  /** The answer's JSON. @throws APIError, APIConnectionError, or the reason of the signal */
  json<Result>(call: Call, options?: RequestOptions): Promise<Result> {
    return this.#send<Result>(call, options, async (response) => {
      const text = await response.text();
      try {
        return JSON.parse(text);
      } catch (cause) {
        throw new APIConnectionError('The answer is not JSON: something other than Genway answered.', { cause });
      }
    });
  }

  /** The answer as a text. @throws as `json` */
  text(call: Call, options?: RequestOptions): Promise<string> {
    return this.#send(call, options, (response) => response.text());
  }

  /** The bytes of the answer while they arrive. @throws as `json` */
  bytes(call: Call, options?: RequestOptions): Promise<Bytes> {
    return this.#send(call, options, (response, limits) => {
      limits.startStream();
      return Promise.resolve(readBytes(response, limits));
    });
  }

  /** The events of the answer. @throws as `json` */
  events(call: Call, options?: RequestOptions): Promise<Events> {
    return this.#send(call, options, (response, limits) => {
      limits.startStream();
      return Promise.resolve(readEvents(response, limits));
    });
  }

  async #send<Result>(
    call: Call,
    options: RequestOptions = {},
    read: (response: Response, limits: Limits) => Promise<Result>,
  ): Promise<Result> {
    const headers = this.#headers(call, options);
    const maxRetries = options.maxRetries ?? this.#maxRetries;
    for (let retries = 0; ; retries += 1) {
      const limitMs = options.timeoutMs ?? this.#timeoutMs ?? (call.isText ? TEXT_MINUTES : 1) * MINUTE_MS;
      const limits = new Limits(limitMs, options.signal);
      try {
        return await this.#attempt(call, headers, limits, read);
      } catch (error) {
        options.signal?.throwIfAborted();
        if (retries >= maxRetries || !mayRepeat(error, call, retries)) throw error;
        await pause(pauseMs(error, retries), options.signal);
      } finally {
        limits.end();
      }
    }
  }

  #headers({ body, takesKey }: Call, { headers, idempotencyKey }: RequestOptions): Headers {
    const all = new Headers(headers);
    all.set('authorization', `Bearer ${this.#apiKey}`);
    if (body !== undefined) all.set('content-type', 'application/json');
    if (takesKey) all.set('idempotency-key', idempotencyKey ?? crypto.randomUUID());
    return all;
  }

  async #attempt<Result>(
    call: Call,
    headers: Headers,
    limits: Limits,
    read: (response: Response, limits: Limits) => Promise<Result>,
  ): Promise<Result> {
    const form = call.form?.();
    const all = new Headers(headers);
    if (form?.contentType) all.set('content-type', form.contentType);
    const init = {
      method: call.method,
      headers: all,
      body: form?.body ?? (call.body === undefined ? null : JSON.stringify(call.body)),
      signal: limits.signal,
      redirect: 'error',
      // A body that is a stream needs it.
      duplex: 'half',
    } as const;
    try {
      const response = await this.#fetch(this.#url(call), init);
      if (!response.ok) throw await refusalOf(response);
      return await read(response, limits);
    } catch (error) {
      throw error instanceof GenwayError ? error : limits.errorOf(error);
    }
  }

  #url({ path, query, isText }: Call): string {
    const url = new URL((isText ? this.#textBaseUrl : this.#baseUrl) + path);
    for (const [name, value] of Object.entries(query ?? {})) {
      if (value !== undefined && value !== null)
        url.searchParams.set(name, value instanceof Date ? value.toISOString() : String(value));
    }
    return url.href;
  }
}

async function refusalOf(response: Response): Promise<APIError> {
  const { code, message, isRetryable } = reportedIn(await response.json().catch(() => null));
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN);
  return errorOf({
    status: response.status,
    code,
    message: message ?? `The server answered ${response.status}.`,
    requestId: response.headers.get('x-request-id'),
    isRetryable: isRetryable ?? RETRYABLE.has(response.status),
    retryAfterSeconds: Number.isFinite(seconds) ? seconds : null,
  });
}

/** A request that may have been carried out is sent again only if it is done once however often it is sent. Failed text costs nothing. */
function mayRepeat(error: unknown, call: Call, retries: number): boolean {
  if (call.form && !call.canRepeatForm) return false;
  const isDoneOnce = call.takesKey === true || call.isRead === true || call.method !== 'POST';
  if (error instanceof APIConnectionError) return isDoneOnce || wasNotSent(error);
  if (!(error instanceof APIError)) return false;
  // The attempt before is still being processed.
  if (error.code === 'idempotency_conflict') return retries > 0;
  if (isDoneOnce) return error.isRetryable;
  // Without a code, the answer comes from a proxy, which does not know what was done.
  return error.code !== '' && error.isRetryable && (call.isText === true || error.status === 429);
}

/** The codes of Node for failures to connect, before anything is sent. */
const NOT_SENT: ReadonlySet<unknown> = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT']);

/** `fetch` gives the failure of the connection as the cause of its own error. */
function wasNotSent({ cause }: APIConnectionError): boolean {
  const failure = cause instanceof Error ? cause.cause : undefined;
  return failure instanceof Error && 'code' in failure && NOT_SENT.has(failure.code);
}

function pauseMs(error: unknown, retries: number): number {
  const asked = error instanceof APIError ? error.retryAfterSeconds : null;
  const growing = Math.min(FIRST_PAUSE_MS * 2 ** retries, MAX_PAUSE_MS);
  return Math.max(Math.min((asked ?? 0) * 1000, MAX_ASKED_MS), growing * (0.5 + Math.random() / 2));
}

/** @throws the reason of the signal */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  await new Promise<void>((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, Math.min(ms, MAX_TIMER_MS));
    signal?.addEventListener('abort', end);
  });
  signal?.throwIfAborted();
}

function variable(name: string): string | undefined {
  return typeof process === 'undefined' ? undefined : process.env[name];
}

function withoutSlash(url: string): string {
  return url.endsWith('/') ? url.slice(0, -1) : url;
}
