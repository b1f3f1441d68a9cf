/**
 * HTTP as upstreams of media are spoken to: their address, the operator's credential, JSON and forms, bounded answers, and what
 * each failure of a submission means for the question whether the upstream may have a job of it.
 */
import type { Dispatcher } from 'undici';
import { PROVIDER_ANSWER_MS, DOWNLOAD_SILENCE_MS } from '../../domain/step-limits.ts';
import type { ResultDownload, ResultFile } from './result-file.ts';
import { type Answer, exchange, isSuccess, type Exchange } from './exchange.ts';
import { type Carrier, openDownload } from './download.ts';
import { encodeForm, type FormPart } from './form.ts';
import { NotTakenError, OutcomeUnknownError, ProviderUnreachableError, type SubmissionError } from './outcomes.ts';

/** A request, but for the address and the credential. */
export interface VendorCall {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Relative to the upstream's address, or an address of its origin that the upstream itself named. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: { readonly json: unknown } | { readonly form: readonly FormPart[] };
  /** Of a submission: by what it is known again in a list of the upstream's; its body when absent. */
  readonly identity?: unknown;
  /** Another of {@link VendorHttp.addresses}. */
  readonly base?: URL;
}

export type VendorAnswer = Answer;

export interface SubmissionLimits {
  readonly timeoutMs: number;
  readonly maxResponseBytes: number;
  /** The same submission may be made again, so that an open connection may carry it. */
  readonly isRepeatable: boolean;
}

export interface VendorHttp {
  /** Where the upstream is; ends in a slash. */
  readonly base: URL;
  /** The adapter's further addresses, or what the operator configured instead, by name. */
  readonly addresses: Readonly<Record<string, URL>>;
  /**
   * Asks, and may be repeated.
   *
   * @returns the answer, whatever its status
   * @throws ProviderUnreachableError
   */
  ask(call: VendorCall, signal: AbortSignal): Promise<VendorAnswer>;
  /**
   * Hands work over. Never sent twice here. A signal that ends it in the middle is no outcome: its reason is thrown.
   *
   * @param refusal what an answer that is no success says; null where only its status tells
   * @returns an answer that succeeded by its status
   * @throws SubmissionError
   */
  submit(
    call: VendorCall,
    limits: SubmissionLimits,
    refusal: (answer: VendorAnswer) => SubmissionError | null,
    signal: AbortSignal,
  ): Promise<VendorAnswer>;
  /** @throws ProviderUnreachableError | JobRefusedError with `result_transfer_failed` when the file is not to be had */
  download(file: ResultFile, signal: AbortSignal): Promise<ResultDownload>;
}

export interface VendorHttpOptions {
  readonly base: URL;
  readonly addresses?: Readonly<Record<string, URL>>;
  /** The credential's headers, made for each request; sent to the origin of `base` and of `addresses` only. */
  readonly credential: () => Readonly<Record<string, string>>;
  /** Carries the requests to addresses that the operator configured. */
  readonly dispatcher: Dispatcher;
  /** Carries downloads from all other origins, and decides which of them may be reached; without it there are none. */
  readonly externalDispatcher?: Dispatcher | undefined;
  /** Further origins that files are fetched from, wherever they lead. */
  readonly resultOrigins?: readonly string[];
  /** For each call but submissions and downloads. */
  readonly answerTimeoutMs?: number;
  /** How long a download may stand still. */
  readonly downloadIdleTimeoutMs?: number;
  /** Size of an answer, downloads excepted. */
  readonly maxResponseBytes?: number;
}

const DEFAULT_MAX_RESPONSE_BYTES = 2 ** 20;
/** The operator's credential, money or model is missing there: nothing that waiting would mend. */
const ACCOUNT_STATUSES: readonly number[] = [401, 402, 403, 404];

export function createVendorHttp(options: VendorHttpOptions): VendorHttp {
  const { base, addresses = {}, maxResponseBytes = DEFAULT_MAX_RESPONSE_BYTES } = options;
  const own = new Set([base, ...Object.values(addresses)].map(({ origin }) => origin));
  const resultOrigins = new Set(options.resultOrigins);

  function exchangeOf(call: VendorCall): Omit<Exchange, 'timeoutMs' | 'maxResponseBytes'> {
    const url = new URL(call.path, call.base ?? base);
    if (!own.has(url.origin)) throw new ProviderUnreachableError(`the upstream named an address of another origin`);
    for (const [name, value] of Object.entries(call.query ?? {})) {
      if (value !== undefined) url.searchParams.set(name, String(value));
    }
    const body = call.body && encode(call.body);
    return {
      method: call.method ?? (call.body ? 'POST' : 'GET'),
      url,
      headers: { ...(body && { 'content-type': body.contentType }), ...options.credential(), ...call.headers },
      ...(body && { body: body.bytes }),
      dispatcher: options.dispatcher,
    };
  }

  function carrierOf(url: URL): Carrier | null {
    if (url.origin === base.origin) return { dispatcher: options.dispatcher, headers: options.credential() };
    if (resultOrigins.has(url.origin)) return { dispatcher: options.dispatcher, headers: {} };
    return options.externalDispatcher ? { dispatcher: options.externalDispatcher, headers: {} } : null;
  }

  return {
    base,
    addresses,

    async ask(call, signal) {
      const timeoutMs = options.answerTimeoutMs ?? PROVIDER_ANSWER_MS;
      return exchange({ ...exchangeOf(call), timeoutMs, maxResponseBytes }, signal);
    },

    async submit(call, { timeoutMs, maxResponseBytes, isRepeatable }, refusal, signal) {
      let wasSent = false;
      const onSending = (): void => void (wasSent = true);
      const answer = await exchange(
        { ...exchangeOf(call), timeoutMs, maxResponseBytes, freshConnection: !isRepeatable, onSending },
        signal,
      ).catch((error: unknown) => {
        const reason = reasonOf(error);
        if (!wasSent) throw new NotTakenError(reason, { cause: error });
        signal.throwIfAborted();
        throw new OutcomeUnknownError(reason, { cause: error });
      });
      if (isSuccess(answer)) return answer;
      throw refusal(answer) ?? judgeStatus(answer);
    },

    async download(file, signal) {
      if ('bytes' in file) return held(file.bytes, file.mimeType);
      const idleTimeoutMs = options.downloadIdleTimeoutMs ?? DOWNLOAD_SILENCE_MS;
      return openDownload(file.url, { carrierOf, idleTimeoutMs }, signal);
    },
  };
}

/** What a status says of a submission by itself. */
function judgeStatus(answer: VendorAnswer): SubmissionError {
  const { status, document } = answer;
  const said = `the upstream answered ${status}`;
  if (status === 429) return new NotTakenError(said, { retryAfterMs: retryAfterMs(answer) });
  if (ACCOUNT_STATUSES.includes(status)) return new NotTakenError(said, { leavesRoute: true });
  // A proxy in between says so, too, when it has passed the request on; it does not say it in JSON.
  if (status === 503 && document !== undefined) return new NotTakenError(said, { retryAfterMs: retryAfterMs(answer) });
  return new OutcomeUnknownError(said);
}

/** The wait that an answer asks for, up to an hour. RFC 9110, section 10.2.3: seconds; a date is not looked at. */
export function retryAfterMs({ headers }: Pick<VendorAnswer, 'headers'>): number | undefined {
  const seconds = /^\d{1,4}(\.\d+)?$/.exec(headers['retry-after'] ?? '');
  return seconds ? Math.min(Number(seconds[0]) * 1000, 3_600_000) : undefined;
}

function encode(body: NonNullable<VendorCall['body']>): { readonly contentType: string; readonly bytes: Uint8Array } {
  if ('form' in body) return encodeForm(body.form);
  return { contentType: 'application/json', bytes: Buffer.from(JSON.stringify(body.json)) };
}

function held(bytes: Uint8Array, mimeType: string | null): ResultDownload {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(bytes);
      controller.close();
    },
  });
  return { body, contentType: mimeType, contentLength: bytes.byteLength };
}

/** With the reason behind it, which says more: a refused connection, an unknown name, a certificate. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  const code = cause instanceof Error && 'code' in cause ? ` (${String(cause.code)})` : '';
  return `${error.message}${code}`;
}
