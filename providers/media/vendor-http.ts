/**
 * HTTP for media upstreams: their address, the operator's credential, JSON and forms, limited answers, and whether the
 * upstream may have a job after a failed submission.
 */
import type { Dispatcher } from 'undici';
import { PROVIDER_ANSWER_MS, DOWNLOAD_SILENCE_MS } from '../../domain/step-limits.ts';
import { bytesInDataUrl, type ResultDownload, type ResultFile } from './result-file.ts';
import { CredentialsError, type SentRequest } from '../credentials/credentials.ts';
import { type Answer, exchange, isSuccess, type Exchange, unreachableStatusError } from './exchange.ts';
import type { Authorization } from './credentials.ts';
import { type Carrier, openDownload } from './download.ts';
import { encodeForm, type FormPart } from './form.ts';
import { NotTakenError, OutcomeUnknownError, ProviderUnreachableError, type SubmissionError } from './outcomes.ts';
import { retryAfterMs } from './retry-after.ts';
import { parseUrl } from '../../domain/parse-url.ts';

export { retryAfterMs };

/** A request without address and credential. */
export interface VendorCall {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Relative to the upstream's address, or a URL on its origin that the upstream itself named. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: { readonly json: unknown } | { readonly form: readonly FormPart[] };
  /** For a submission: identifies it in the upstream's list; the body by default. */
  readonly identity?: unknown;
  /** For a call whose answer may have the files; the limit of all answers by default. */
  readonly maxResponseBytes?: number;
  /** One of {@link VendorHttp.addresses}. */
  readonly base?: URL;
}

export type VendorAnswer = Answer;

export interface SubmissionLimits {
  readonly timeoutMs: number;
  readonly maxResponseBytes: number;
  /** Whether the submission can be repeated safely, so that an open connection may carry it. */
  readonly isRepeatable: boolean;
}

export interface VendorHttp {
  /** The upstream's address; ends in a slash. */
  readonly base: URL;
  /** The adapter's further addresses, or the operator's replacements, by name. */
  readonly addresses: Readonly<Record<string, URL>>;
  /**
   * Makes a call that only reads, and that may be repeated.
   *
   * @returns the answer, whatever its status
   * @throws ProviderUnreachableError, also if the upstream asks for a wait
   */
  send(call: VendorCall, signal: AbortSignal): Promise<VendorAnswer>;
  /** Like {@link send}, for a call that is not repeated: the answer may also ask for a wait. */
  sendOnce(call: VendorCall, signal: AbortSignal): Promise<VendorAnswer>;
  /**
   * Submits work once, without retries. Throws the signal's reason if the signal aborts a submission that was being
   * sent: its outcome is then unknown.
   *
   * @param refusal reads the refusal in an unsuccessful answer; null if only the status is meaningful
   * @returns an answer with a successful status
   * @throws SubmissionError
   */
  submit(
    call: VendorCall,
    limits: SubmissionLimits,
    refusal: (answer: VendorAnswer) => SubmissionError | null,
    signal: AbortSignal,
  ): Promise<VendorAnswer>;
  /** @throws ProviderUnreachableError | JobRefusedError with `result_transfer_failed` if the file is not available */
  download(file: ResultFile, signal: AbortSignal): Promise<ResultDownload>;
}

export interface VendorHttpOptions {
  readonly base: URL;
  readonly addresses?: Readonly<Record<string, URL>>;
  /** Further hosts of the vendor, if the host of `base` is one of them, too. */
  readonly ownHosts?: RegExp | undefined;
  /** Makes the credential's headers for each request; sent only to the origins of `base` and `addresses`. */
  readonly credential: (request: SentRequest) => ReturnType<Authorization>;
  /** Called when an answer refuses the credential. @param date the upstream's clock */
  readonly refused?: (date: string | undefined) => void;
  /** Carries requests to addresses that the operator configured. */
  readonly dispatcher: Dispatcher;
  /** Carries downloads from all other origins, and decides which may be reached; without it, none may. */
  readonly externalDispatcher?: Dispatcher | undefined;
  /** Further allowed origins of result files, even if they lead to a private address. */
  readonly resultOrigins?: readonly string[];
  /** For each call except submissions and downloads. */
  readonly answerTimeoutMs?: number;
  /** How long a download may stall. */
  readonly downloadIdleTimeoutMs?: number;
  /** Limits answers, except downloads. */
  readonly maxResponseBytes?: number;
}

const DEFAULT_MAX_RESPONSE_BYTES = 2 ** 20;
/** The operator's credential, money or model is missing: a retry cannot succeed. */
const ACCOUNT_STATUSES: readonly number[] = [401, 402, 403, 404];
const UNAUTHORIZED = 401;
const MOVED_PERMANENTLY = 301;
const SAME_METHOD_STATUSES: readonly number[] = [307, 308];

export function createVendorHttp(options: VendorHttpOptions): VendorHttp {
  const { base, addresses = {}, maxResponseBytes = DEFAULT_MAX_RESPONSE_BYTES } = options;
  const exchangeOf = requestBuilder(options);
  const resultOrigins = new Set(options.resultOrigins);
  const origins = ownOrigins(options);

  /** Sends a request, and reports an answer that refuses the credential. */
  async function sendTo(request: Exchange, signal: AbortSignal): Promise<VendorAnswer> {
    const answer = await exchange(request, signal);
    if (answer.status === UNAUTHORIZED) options.refused?.(answer.headers['date']);
    return answer;
  }

  async function carrierOf(url: URL): Promise<Carrier | null> {
    if (origins.has(url.origin)) {
      const request = { method: 'GET', url, headers: {}, body: '' };
      const headers = await Promise.resolve(options.credential(request)).catch(rethrowAsUnreachable);
      return { dispatcher: options.dispatcher, headers };
    }
    if (resultOrigins.has(url.origin)) return { dispatcher: options.dispatcher, headers: {} };
    return options.externalDispatcher ? { dispatcher: options.externalDispatcher, headers: {} } : null;
  }

  async function sendOnce(call: VendorCall, signal: AbortSignal): Promise<VendorAnswer> {
    const timeoutMs = options.answerTimeoutMs ?? PROVIDER_ANSWER_MS;
    const maxBytes = call.maxResponseBytes ?? maxResponseBytes;
    const request = await exchangeOf(call).catch(rethrowAsUnreachable);
    return sendTo({ ...request, timeoutMs, maxResponseBytes: maxBytes }, signal);
  }

  return {
    base,
    addresses,
    sendOnce,

    async send(call, signal) {
      const answer = await sendOnce(call, signal);
      if (asksForWait(answer)) throw unreachableStatusError(answer);
      return answer;
    },

    async submit(call, { timeoutMs, maxResponseBytes, isRepeatable }, refusal, signal) {
      let wasSent = false;
      const onSending = (): void => void (wasSent = true);
      const request = await exchangeOf(call).catch(rethrowAsNotTaken);
      const answer = await sendTo(
        { ...request, timeoutMs, maxResponseBytes, freshConnection: !isRepeatable, onSending },
        signal,
      ).catch((error: unknown) => {
        const reason = reasonOf(error);
        if (!wasSent) throw new NotTakenError(reason, { isUnreachable: true, cause: error });
        signal.throwIfAborted();
        throw new OutcomeUnknownError(reason, { cause: error });
      });
      if (isSuccess(answer)) return answer;
      throw heavier(refusal(answer), judgeStatus(answer, request.url));
    },

    async download(file, signal) {
      if ('bytes' in file) return held(file.bytes);
      const bytes = bytesInDataUrl(file.url);
      if (bytes !== null) return held(bytes);
      const idleTimeoutMs = options.downloadIdleTimeoutMs ?? DOWNLOAD_SILENCE_MS;
      return openDownload(file.url, { carrierOf, idleTimeoutMs }, signal);
    },
  };
}

function ownOrigins({ base, addresses = {} }: Pick<VendorHttpOptions, 'base' | 'addresses'>): ReadonlySet<string> {
  return new Set([base, ...Object.values(addresses)].map(({ origin }) => origin));
}

/** Recognises the addresses that may get the credential. */
function ownAddresses({ base, addresses = {}, ownHosts }: VendorHttpOptions): (url: URL) => boolean {
  const origins = ownOrigins({ base, addresses });
  const hosts = ownHosts?.test(base.hostname) ? ownHosts : undefined;
  return ({ origin, protocol, hostname }) =>
    origins.has(origin) || (protocol === 'https:' && hosts?.test(hostname) === true);
}

/** Adds the address, the credential and the encoded body to calls. */
function requestBuilder(
  options: VendorHttpOptions,
): (call: VendorCall) => Promise<Omit<Exchange, 'timeoutMs' | 'maxResponseBytes'>> {
  const { base } = options;
  const isOwn = ownAddresses(options);
  return async (call) => {
    const url = new URL(call.path, call.base ?? base);
    if (!isOwn(url)) throw new ProviderUnreachableError(`the upstream sent an address on another origin`);
    for (const [name, value] of Object.entries(call.query ?? {})) {
      if (value !== undefined) url.searchParams.set(name, String(value));
    }
    const body = call.body && encode(call.body);
    const method = call.method ?? (call.body ? 'POST' : 'GET');
    const headers = { ...(body && { 'content-type': body.contentType }), ...call.headers };
    const credential = await options.credential({ method, url, headers, body: body ? [body.bytes] : '' });
    return {
      method,
      url,
      headers: { ...credential, ...headers },
      ...(body && { body: body.bytes }),
      dispatcher: options.dispatcher,
    };
  };
}

/** Without a token, nothing was sent. */
function rethrowAsNotTaken(error: unknown): never {
  if (!(error instanceof CredentialsError)) throw error;
  const { message, isRefused } = error;
  throw new NotTakenError(message, { isRouteExcluded: isRefused, isUnreachable: true, cause: error });
}

function rethrowAsUnreachable(error: unknown): never {
  throw error instanceof CredentialsError ? new ProviderUnreachableError(error.message, { cause: error }) : error;
}

/** Whether the answer only asks to retry later. A 503 without a wait may also be an upstream's verdict on a job. */
function asksForWait(answer: VendorAnswer): boolean {
  return answer.status === 429 || (answer.status === 503 && retryAfterMs(answer) !== undefined);
}

/** The outcome of a submission by its HTTP status alone. */
function judgeStatus(answer: VendorAnswer, requested: URL): SubmissionError {
  const { status, document } = answer;
  const operatorMessage = `the upstream answered ${status}`;
  const moved = movedTo(answer, requested);
  if (moved !== null) {
    const message = `${operatorMessage}: the address has moved to ${moved.origin}. Correct base_url`;
    return new NotTakenError(message, { isRouteExcluded: true });
  }
  if (status === 429) return new NotTakenError(operatorMessage, { retryAfterMs: retryAfterMs(answer) });
  if (ACCOUNT_STATUSES.includes(status)) return new NotTakenError(operatorMessage, { isRouteExcluded: true });
  // A proxy may send this status after passing the request on, but then the body is not JSON.
  if (status === 503 && document !== undefined)
    return new NotTakenError(operatorMessage, { retryAfterMs: retryAfterMs(answer) });
  return new OutcomeUnknownError(operatorMessage);
}

/**
 * Where to send the same request instead; null if the upstream may have processed the request. With 307 and 308 the client
 * repeats the method and the body (RFC 9110, 15.4). After 301 clients may read the location with GET, so only the same path
 * on another origin, such as from `http` to `https`, is an address that moved, and not the page of a result.
 */
function movedTo({ status, headers }: VendorAnswer, requested: URL): URL | null {
  const { location } = headers;
  const target = location === undefined ? null : parseUrl(location, requested);
  if (target === null || SAME_METHOD_STATUSES.includes(status)) return target;
  const isSamePath = target.pathname === requested.pathname && target.search === requested.search;
  return status === MOVED_PERMANENTLY && isSamePath && target.origin !== requested.origin ? target : null;
}

/** A word such as `server_error` cannot make the outcome unknown if the status says that the submission was not taken. */
function heavier(word: SubmissionError | null, status: SubmissionError): SubmissionError {
  return word === null || (word instanceof OutcomeUnknownError && status instanceof NotTakenError) ? status : word;
}

function encode(body: NonNullable<VendorCall['body']>): { readonly contentType: string; readonly bytes: Uint8Array } {
  if ('form' in body) return encodeForm(body.form);
  return { contentType: 'application/json', bytes: Buffer.from(JSON.stringify(body.json)) };
}

function held(bytes: Uint8Array): ResultDownload {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(bytes);
      controller.close();
    },
  });
  return { body };
}

/** Includes the code of the cause, which is more precise: a refused connection, an unknown name, a certificate. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  const code = cause instanceof Error && 'code' in cause ? ` (${String(cause.code)})` : '';
  return `${error.message}${code}`;
}
