/** An address at which an upstream serves one wire format: sends requests, and tells failures as a client may read them. */
import { Readable } from 'node:stream';
import { type Dispatcher, Pool } from 'undici';
import { ServiceError } from '../../domain/errors.ts';
import { byteLengthOf, writeJson } from '../../text/json/write.ts';
import type { UpstreamFormat, UpstreamRequest } from '../../text/wire-format.ts';
import { Answer, codeOf, silenceOf } from './answer.ts';
import { Health } from './health.ts';

export interface UpstreamEndpoint {
  readonly apiKey: string;
  readonly health: Health;
  /**
   * Sends a request and returns the answer once it has begun and is a successful one.
   *
   * @throws ServiceError what a client may read about an upstream that refused, failed or could not be reached; the reason
   *   of the signal when it is aborted
   */
  send(request: UpstreamRequest, signal: AbortSignal): Promise<Answer>;
  close(): Promise<void>;
}

export interface EndpointSettings {
  /** With the version. */
  readonly baseUrl: string;
  readonly apiKey: string;
  /** How long an upstream may be silent before its answer counts as lost. */
  readonly silenceTimeoutMs: number;
  /** Sends the trace along with the requests. */
  readonly traced: (dispatcher: Dispatcher) => Dispatcher;
  /** Told of each answer that began, and after how long. @param outcome its status, `unreachable`, or `cancelled` by the caller */
  readonly answered: (outcome: string, seconds: number) => void;
}

const CONNECT_TIMEOUT_MS = 5_000;
const KEEP_ALIVE_MS = 30_000;
/** A stream holds its connection for as long as it lasts. */
const MAX_CONNECTIONS = 8_192;
/** More of an error than this says nothing. */
const MAX_ERROR_BYTES = 64 * 1024;

export function createUpstreamEndpoint(format: UpstreamFormat, settings: EndpointSettings): UpstreamEndpoint {
  const { origin, pathname } = new URL(settings.baseUrl);
  const basePath = pathname.replace(/\/$/, '');
  const pool = new Pool(origin, {
    connections: MAX_CONNECTIONS,
    connect: { timeout: CONNECT_TIMEOUT_MS },
    headersTimeout: settings.silenceTimeoutMs,
    bodyTimeout: settings.silenceTimeoutMs,
    keepAliveTimeout: KEEP_ALIVE_MS,
  });
  const dispatcher = settings.traced(pool);
  return {
    apiKey: settings.apiKey,
    health: new Health(),
    send: async ({ path, headers, body }, signal) => {
      const written = await writeJson(body);
      const startedAtMs = performance.now();
      const report = (outcome: string): void => settings.answered(outcome, (performance.now() - startedAtMs) / 1000);
      const answer = new Answer(signal);
      dispatcher.dispatch(
        {
          method: 'POST',
          path: basePath + path,
          headers: {
            ...headers,
            'content-type': 'application/json',
            'content-length': String(byteLengthOf(written)),
          },
          body: typeof written === 'string' ? written : Readable.from(written),
        },
        answer,
      );
      const { status, headers: answerHeaders } = await answer.head.catch((error: unknown) => {
        report(signal.aborted ? 'cancelled' : 'unreachable');
        throw signal.aborted ? signal.reason : failureOfCall(error);
      });
      report(String(status));
      if (status === 200) return answer;
      const refusal = await readJson(answer);
      throw format.parseError(status, refusal, secondsOf(answerHeaders['retry-after']));
    },
    close: () => pool.destroy(),
  };
}

/** The JSON that an answer holds; null when it is none, too long or breaks off. */
async function readJson(answer: Answer): Promise<unknown> {
  try {
    return JSON.parse((await answer.readAll(MAX_ERROR_BYTES)).toString());
  } catch {
    answer.discard();
    return null;
  }
}

/** A `Retry-After` in seconds; dates and nonsense count as absent. */
function secondsOf(header: string | string[] | undefined): number | undefined {
  const seconds = typeof header === 'string' && header.trim() !== '' ? Number(header) : NaN;
  return Number.isFinite(seconds) && seconds >= 0 ? Math.ceil(seconds) : undefined;
}

/** Causes with which no connection came about, so that the upstream cannot have seen the request. */
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

function failureOfCall(cause: unknown): ServiceError {
  if (!UNREACHED.has(codeOf(cause))) {
    return (
      silenceOf(cause) ?? new ServiceError('processing_failed', 'The model failed to answer; try again.', { cause })
    );
  }
  const unavailable = 'The model is not available at the moment; try again later or use another model.';
  return new ServiceError('processing_unavailable', unavailable, { cause });
}
