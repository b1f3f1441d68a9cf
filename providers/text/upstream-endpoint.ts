/** An upstream's address for one wire format: sends requests, and turns failures into errors for clients. */
import { Readable } from 'node:stream';
import { type Dispatcher, Pool } from 'undici';
import { byteLengthOf, writeJson } from '../../text/json/write.ts';
import { bedrock } from '../../text/platforms/bedrock.ts';
import type { Platform } from '../../text/platforms/platform.ts';
import type { UpstreamHalf, UpstreamRequest } from '../../text/wire-format.ts';
import { FAILED, KEY_REFUSED, UNREACHABLE, UpstreamError } from '../../text/upstream-errors.ts';
import { type Credentials, CredentialsError, type Headers, type SentRequest } from '../credentials/credentials.ts';
import { type Answer, type AnswerHead, codeOf, jsonOrText, toTimeoutError } from './answer.ts';
import { decodeEventStream } from './event-stream.ts';

export interface UpstreamEndpoint {
  /**
   * Sends a request. Resolves when a successful answer starts.
   *
   * @param answer receives the data
   * @throws UpstreamError if the upstream refuses, fails or cannot be reached; the cause if the answer is cancelled or
   *   given up
   */
  send(request: UpstreamRequest, answer: Answer): Promise<void>;
  close(): Promise<void>;
}

export interface EndpointSettings {
  /** The address, including the version. */
  readonly baseUrl: string;
  /** Sent with every request. */
  readonly headers: Readonly<Record<string, string>>;
  /** Replaces the key in the headers of requests; null for an upstream with keys. */
  readonly credentials: Credentials | null;
  /** The cloud that takes the format in a form of its own; null for a vendor's own address. */
  readonly platform: Platform | null;
  /** After this much silence an open connection counts as lost. */
  readonly maxSilenceMs: number;
  /** Adds the trace to requests. */
  readonly traced: (dispatcher: Dispatcher) => Dispatcher;
  /** Called for each answer that starts. @param outcome its status, `unreachable`, or `cancelled` by the caller */
  readonly answered: (outcome: string, seconds: number) => void;
}

const CONNECT_TIMEOUT_MS = 5_000;
const KEEP_ALIVE_MS = 30_000;
/** Each request holds a connection until its answer ends. */
const MAX_CONNECTIONS = 8_192;
/** The rest of a longer error is not useful. */
const MAX_ERROR_BYTES = 64 * 1024;
const MAX_ERROR_MS = 2_000;

export function createUpstreamEndpoint({ name, upstream }: UpstreamHalf, settings: EndpointSettings): UpstreamEndpoint {
  const { origin, pathname } = new URL(settings.baseUrl);
  const basePath = pathname.replace(/\/$/, '');
  const pool = new Pool(origin, {
    connections: MAX_CONNECTIONS,
    connect: { timeout: CONNECT_TIMEOUT_MS },
    headersTimeout: settings.maxSilenceMs,
    bodyTimeout: settings.maxSilenceMs,
    keepAliveTimeout: KEEP_ALIVE_MS,
  });
  const dispatcher = settings.traced(pool);
  const { credentials, platform } = settings;
  return {
    send: async (given, answer) => {
      const request = platform === null ? given : platform.adapt(given, name);
      const path = basePath + request.path;
      const { content, method = 'POST' } = request;
      // The signatures of platforms cover JSON alone; none of them has routes with files.
      const written = content === undefined && method === 'POST' ? await writeJson(request.body) : '';
      const keyed = {
        ...settings.headers,
        ...request.headers,
        ...(method === 'POST' && {
          'content-type': content?.type ?? 'application/json',
          'content-length': String(content?.byteLength ?? byteLengthOf(written)),
        }),
      };
      const unproven = (): SentRequest => ({
        method,
        url: new URL(path, origin),
        headers: keyed,
        body: written,
      });
      const headers = credentials === null ? keyed : await withProof(unproven(), credentials, answer);
      const handler = name === 'converse' || platform === bedrock ? await decodeEventStream(answer) : answer;
      const startedAtMs = performance.now();
      const report = (outcome: string): void => settings.answered(outcome, (performance.now() - startedAtMs) / 1000);
      dispatcher.dispatch(
        {
          method,
          path,
          headers,
          body:
            method === 'GET'
              ? null
              : content !== undefined
                ? Readable.from(content.read())
                : typeof written === 'string'
                  ? written
                  : Readable.from(written),
        },
        handler,
      );
      const { status, headers: answerHeaders } = await answer.head.catch((error: unknown) => {
        report(answer.isCancelled ? 'cancelled' : 'unreachable');
        throw answer.isCancelled || error instanceof UpstreamError ? error : failureOfCall(error);
      });
      report(String(status));
      // Calls over WebRTC are created.
      if (status === 200 || status === 201) return;
      if (REFUSED_STATUSES.includes(status)) credentials?.refused(singleOf(answerHeaders['date']));
      const read = (header: string): string => singleOf(answerHeaders[header]) ?? '';
      const body = await readRefusal(answer);
      throw upstream.parseError(status, platform?.refusal?.(body, read) ?? body, waitSecondsOf(answerHeaders));
    },
    close: () => pool.destroy(),
  };
}

/** The headers in which formats send a key. */
const KEY_HEADERS: ReadonlySet<string> = new Set(['authorization', 'api-key', 'x-api-key', 'x-goog-api-key']);
/** AWS answers with 403 where others answer with 401. */
const REFUSED_STATUSES: readonly number[] = [401, 403];

/**
 * The headers of a request with a token or a signature in place of the key.
 *
 * @throws UpstreamError if there is no valid token; the cause if the answer is cancelled or given up meanwhile
 */
async function withProof(request: SentRequest, credentials: Credentials, answer: Answer): Promise<Headers> {
  const headers = Object.fromEntries(Object.entries(request.headers).filter(([name]) => !KEY_HEADERS.has(name)));
  const proof = credentials.headersFor({ ...request, headers });
  try {
    return { ...headers, ...(await Promise.race([proof, answer.head.then(() => proof)])) };
  } catch (error) {
    if (!(error instanceof CredentialsError)) throw error;
    throw new UpstreamError(error.isRefused ? KEY_REFUSED : UNREACHABLE, {
      vendorMessage: error.message,
      cause: error,
    });
  }
}

function singleOf(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' ? header : undefined;
}

/** Reads the JSON in an answer, or its text if it is not JSON; null if it is too long, takes too long or breaks off. */
async function readRefusal(answer: Answer): Promise<unknown> {
  const timer = setTimeout(() => answer.discard(), MAX_ERROR_MS);
  try {
    return jsonOrText((await answer.readAll(MAX_ERROR_BYTES)).toString());
  } catch {
    answer.discard();
    return null;
  } finally {
    clearTimeout(timer);
  }
}

/** The wait that an answer asks for. Azure also gives the wait in milliseconds, which is more precise. */
function waitSecondsOf(headers: AnswerHead['headers']): number | undefined {
  const milliseconds = Number(headers['retry-after-ms'] ?? Number.NaN);
  return milliseconds >= 0 ? Math.ceil(milliseconds / 1000) : secondsOf(headers['retry-after']);
}

/** The seconds in a `Retry-After`, also from a date (RFC 9110, section 10.2.3); undefined for an invalid value. */
function secondsOf(header: string | string[] | undefined): number | undefined {
  if (typeof header !== 'string' || header.trim() === '') return undefined;
  const number = Number(header);
  const seconds = Number.isNaN(number) ? (Date.parse(header) - Date.now()) / 1000 : number;
  return Number.isFinite(seconds) && seconds >= 0 ? Math.ceil(seconds) : undefined;
}

/** Error codes of failed connections: the upstream cannot have seen the request. */
const UNREACHED = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
  'CERT_HAS_EXPIRED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

function failureOfCall(cause: unknown): UpstreamError {
  if (UNREACHED.has(codeOf(cause))) return new UpstreamError(UNREACHABLE, { cause });
  return toTimeoutError(cause) ?? new UpstreamError(FAILED, { cause });
}
