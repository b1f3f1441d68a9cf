/** A client of the HTTP job protocol: see docs/provider-protocol.md. */
import { Agent, type Dispatcher } from 'undici';
import { DOWNLOAD_SILENCE_MS, PROVIDER_ANSWER_MS } from '../../domain/step-limits.ts';
import { ProviderUnreachableError, type MediaProvider } from '../media-provider.ts';
import { openDownload } from './download.ts';
import { exchange, type Answer } from './exchange.ts';
import { jobIdOf, jobStateOf, listedJobIdOf, presentSubmission, refusalOf, resultGone, saysNotFound } from './wire.ts';

const DEFAULT_MAX_RESPONSE_BYTES = 2 ** 20;
const CONNECTIONS = 128;
const KEEP_ALIVE_MS = 30_000;
/** Answers to a cancellation that mean: there is no such job, or it has ended. */
const ENDED_STATUSES: readonly number[] = [404, 409, 410];

export interface HttpJobsOptions {
  /** The name by which configuration, histories and operators call the upstream. */
  readonly name: string;
  /** What `/v1/jobs` is appended to; may hold a path. */
  readonly baseUrl: string;
  /** Sent as a bearer token, to the origin of `baseUrl` only. */
  readonly apiKey: string;
  /** Carries the requests to `baseUrl`; an own pool with keep-alive when absent. */
  readonly dispatcher?: Dispatcher;
  /** Carries downloads from other origins, and decides which of them may be reached; without it there are none. */
  readonly externalDispatcher?: Dispatcher;
  /** Sends the trace along with the requests. */
  readonly traced?: (dispatcher: Dispatcher) => Dispatcher;
  /** For each exchange except downloads. */
  readonly requestTimeoutMs?: number;
  /** How long a download may stand still. */
  readonly downloadIdleTimeoutMs?: number;
  /** Size of an answer, downloads excepted. */
  readonly maxResponseBytes?: number;
}

export interface HttpJobsProvider extends MediaProvider {
  /** Closes the pool that it opened itself. */
  close(): Promise<void>;
}

/** @throws TypeError when `baseUrl` is not a URL */
export function createHttpJobsProvider(options: HttpJobsOptions): HttpJobsProvider {
  const base = new URL(options.baseUrl.endsWith('/') ? options.baseUrl : `${options.baseUrl}/`);
  const pool = options.dispatcher ?? new Agent({ connections: CONNECTIONS, keepAliveTimeout: KEEP_ALIVE_MS });
  const dispatcher = options.traced?.(pool) ?? pool;
  const credential = { authorization: `Bearer ${options.apiKey}` };

  const call = (call: Call, signal: AbortSignal): Promise<Answer> =>
    exchange(
      {
        method: call.method,
        url: new URL(call.path, base),
        headers: { ...credential, ...call.headers },
        ...(call.body ? { body: call.body } : {}),
        dispatcher,
        timeoutMs: options.requestTimeoutMs ?? PROVIDER_ANSWER_MS,
        maxResponseBytes: options.maxResponseBytes ?? DEFAULT_MAX_RESPONSE_BYTES,
      },
      signal,
    );

  return {
    name: options.name,

    async submit(request, signal) {
      const headers = { 'idempotency-key': request.taskId };
      const answer = await call({ method: 'POST', path: 'v1/jobs', headers, body: presentSubmission(request) }, signal);
      if (!isSuccess(answer)) throw refusalOf(answer.status, answer.document);
      return jobIdOf(answer.document, request.taskId);
    },

    async findByTask(taskId, signal) {
      const answer = await call({ method: 'GET', path: `v1/jobs?key=${encodeURIComponent(taskId)}` }, signal);
      if (!isSuccess(answer)) throw noAnswer(answer);
      return listedJobIdOf(answer.document, taskId);
    },

    async status(jobId, signal) {
      const answer = await call({ method: 'GET', path: jobPath(jobId) }, signal);
      if (saysNotFound(answer.status, answer.document)) return { state: 'unknown' };
      if (!isSuccess(answer)) throw noAnswer(answer);
      return jobStateOf(answer.document, jobId, base);
    },

    async fetchResult(result, signal) {
      const isOwn = new URL(result.url).origin === base.origin;
      const carrier = isOwn ? dispatcher : options.externalDispatcher;
      if (!carrier) throw resultGone();
      const idleTimeoutMs = options.downloadIdleTimeoutMs ?? DOWNLOAD_SILENCE_MS;
      return openDownload(result.url, { headers: isOwn ? credential : {}, dispatcher: carrier, idleTimeoutMs }, signal);
    },

    async cancel(jobId, signal) {
      const answer = await call({ method: 'POST', path: `${jobPath(jobId)}/cancel` }, signal);
      if (!isSuccess(answer) && !ENDED_STATUSES.includes(answer.status)) throw noAnswer(answer);
    },

    async close() {
      if (!options.dispatcher) await pool.close();
    },
  };
}

interface Call {
  readonly method: 'GET' | 'POST';
  /** Relative to the base. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: object;
}

function jobPath(jobId: string): string {
  return `v1/jobs/${encodeURIComponent(jobId)}`;
}

function isSuccess(answer: Answer): boolean {
  return answer.status < 300;
}

/** Only a submission can be refused; anywhere else a 4xx says nothing about the job. */
function noAnswer(answer: Answer): ProviderUnreachableError {
  return new ProviderUnreachableError(`the upstream answered ${answer.status}`);
}
