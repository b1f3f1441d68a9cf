/** An upstream that renders media, as the steps of a task see it: an adapter with its address, credential and settings. */
import { Agent, type Dispatcher } from 'undici';
import { PROVIDER_ANSWER_MS, RENDER_LIMIT_MS } from '../../domain/step-limits.ts';
import { isObject } from '../../domain/json.ts';
import type { TaskKind } from '../../domain/task.ts';
import type {
  Accepted,
  JobState,
  KindTraits,
  MediaAdapter,
  PollPace,
  RenderRequest,
  SentSubmission,
} from './adapter.ts';
import type { ResultDownload, ResultFile } from './result-file.ts';
import {
  addressMac,
  type Announcement,
  assertAddress,
  type CallbackRequest,
  InvalidCallbackError,
  type JsonWebKey,
} from './callbacks.ts';
import type { Credential } from './credentials.ts';
import { documentOf, exchange } from './exchange.ts';
import { listOf, objectOf } from './json.ts';
import { createVendorHttp, type VendorCall, type VendorHttp, type VendorHttpOptions } from './vendor-http.ts';

/** What the operator wrote about an upstream. */
export interface MediaUpstreamSettings {
  readonly name: string;
  readonly adapter: MediaAdapter;
  /** The vendor's own when null. */
  readonly baseUrl: string | null;
  readonly credential: Credential;
  readonly callbackSecret: string | null;
  /** Where the vendor publishes the keys of its signatures; its own when null. */
  readonly keysUrl: string | null;
  /** Instead of further addresses of the vendor's own, by the names that its adapter has for them. */
  readonly addresses: Readonly<Record<string, string>>;
  /** What to do about a submission whose outcome cannot be learnt. */
  readonly onUnknown: 'give_up' | 'resubmit';
  readonly resultOrigins: readonly string[];
  /** The adapter's own when null. */
  readonly poll: PollPace | null;
}

export interface MediaUpstreamOptions {
  /** Carries the requests to the upstream; a pool of its own with keep-alive when absent. */
  readonly dispatcher?: Dispatcher;
  /** Carries downloads from other origins, and decides which of them may be reached; without it there are none. */
  readonly externalDispatcher?: Dispatcher;
  /** Sends the trace along with the requests. */
  readonly traced?: (dispatcher: Dispatcher) => Dispatcher;
  /** Where announcements arrive, without the name and the task; null when callbacks are off. */
  readonly callbackBase?: string | null;
  /** By which credentials are signed and announcements judged, in milliseconds since 1970; that of the machine when absent. */
  readonly nowMs?: () => number;
  readonly timings?: Pick<VendorHttpOptions, 'answerTimeoutMs' | 'downloadIdleTimeoutMs' | 'maxResponseBytes'>;
}

/** The only thing about callbacks that the api process needs. */
export interface CallbackReader {
  /**
   * Checks that the upstream speaks, and reads what about.
   *
   * @param query of the address at which it arrived
   * @throws InvalidCallbackError
   */
  readCallback(callback: CallbackRequest, taskId: string, query: URLSearchParams): Promise<Announcement>;
}

export interface MediaUpstream extends CallbackReader {
  readonly name: string;
  readonly onUnknown: MediaUpstreamSettings['onUnknown'];
  /** Null for a kind that is not rendered there. */
  traitsOf(kind: TaskKind): KindTraits | null;
  poll(kind: TaskKind): PollPace;
  /** Where the upstream is to announce the end of a task's job; null when nobody listens to it. */
  callbackUrl(taskId: string): string | null;
  /** The submission of a request, the same whenever it is made. */
  prepare(request: RenderRequest): VendorCall;
  /**
   * Hands the job over.
   *
   * @throws SubmissionError
   */
  submit(call: VendorCall, request: RenderRequest, signal: AbortSignal): Promise<Accepted>;
  /** The jobs that may be of a submission; null where the upstream cannot tell. @throws ProviderUnreachableError */
  find(sent: SentSubmission, signal: AbortSignal): Promise<readonly string[] | null>;
  /** @throws ProviderUnreachableError */
  status(jobId: string, signal: AbortSignal): Promise<JobState>;
  /** @throws ProviderUnreachableError | JobRefusedError with `result_transfer_failed` when the file is gone */
  fetchResult(result: ResultFile, signal: AbortSignal): Promise<ResultDownload>;
  /** Asks the upstream to stop; no error when the job has ended already or cannot be stopped. */
  cancel(jobId: string, signal: AbortSignal): Promise<void>;
  /** Closes the pool that it opened itself. */
  close(): Promise<void>;
}

const CONNECTIONS = 128;
const KEEP_ALIVE_MS = 30_000;
/** Of a submission that is answered with a job, and of one that is answered with files. */
const MAX_ANSWER_BYTES = { job: 2 ** 20, files: 128 * 2 ** 20 } as const;
const KEYS_KEPT_MS = 3_600_000;
const MAX_KEYS_BYTES = 2 ** 18;

/** @throws TypeError when an address is none */
export function createMediaUpstream(
  settings: MediaUpstreamSettings,
  options: MediaUpstreamOptions = {},
): MediaUpstream {
  const { adapter, name } = settings;
  const { nowMs = Date.now } = options;
  const pool = options.dispatcher ?? new Agent({ connections: CONNECTIONS, keepAliveTimeout: KEEP_ALIVE_MS });
  const dispatcher = options.traced?.(pool) ?? pool;
  const http = openHttp(settings, options, dispatcher);
  const keys = createKeys(settings, dispatcher);

  function traitsFor(kind: TaskKind): KindTraits {
    const traits = adapter.kinds[kind];
    if (!traits) throw new Error(`the upstream ${name} does not render ${kind}s`);
    return traits;
  }

  return {
    name,
    onUnknown: settings.onUnknown,
    traitsOf: (kind) => adapter.kinds[kind] ?? null,
    poll: (kind) => settings.poll ?? traitsFor(kind).poll,
    callbackUrl: (taskId) => callbackUrlOf(settings, options.callbackBase ?? null, taskId),
    prepare: (request) => adapter.submission(request),

    async submit(call, request, signal) {
      const { answers, recovery } = traitsFor(request.kind);
      const limits = {
        timeoutMs: answers === 'files' ? RENDER_LIMIT_MS : (options.timings?.answerTimeoutMs ?? PROVIDER_ANSWER_MS),
        maxResponseBytes: options.timings?.maxResponseBytes ?? MAX_ANSWER_BYTES[answers],
        isRepeatable: recovery === 'key',
      };
      const answer = await http.submit(call, limits, (refused) => adapter.refusal?.(refused) ?? null, signal);
      return adapter.accepted(answer, request);
    },

    find: async (sent, signal) => adapter.find?.(sent, http, signal) ?? null,

    async status(jobId, signal) {
      if (!adapter.status) throw new Error(`the upstream ${name} has no jobs`);
      return adapter.status(jobId, http, signal);
    },

    fetchResult: async (result, signal) => http.download(result, signal),
    cancel: async (jobId, signal) => adapter.cancel?.(jobId, http, signal),

    async readCallback(callback, taskId, query) {
      const { callbacks } = adapter;
      const secret = settings.callbackSecret ?? '';
      if (!callbacks || (secret === '' && callbacks.proof !== 'keys')) {
        throw new InvalidCallbackError('nothing is expected from this upstream');
      }
      if (hasAddressMac(settings)) assertAddress(query.get('mac'), secret, taskId);
      return callbacks.read(callback, { secret, keys, query, nowMs: nowMs() });
    },

    async close() {
      if (!options.dispatcher) await pool.close();
    },
  };
}

function openHttp(
  { adapter, ...settings }: MediaUpstreamSettings,
  options: MediaUpstreamOptions,
  dispatcher: Dispatcher,
): VendorHttp {
  const { nowMs = Date.now } = options;
  const baseUrl = settings.baseUrl ?? adapter.baseUrl;
  if (baseUrl === null) throw new Error(`the upstream ${settings.name} has no base_url`);
  return createVendorHttp({
    ...options.timings,
    base: baseOf(baseUrl, adapter.versionPath),
    addresses: addressesOf(adapter, settings.addresses),
    credential: () => adapter.authorization(settings.credential, nowMs()),
    dispatcher,
    externalDispatcher: options.externalDispatcher,
    resultOrigins: settings.resultOrigins,
  });
}

function addressesOf({ addresses = {} }: MediaAdapter, configured: Readonly<Record<string, string>>) {
  return Object.fromEntries(
    Object.entries(addresses).map(([name, { url, versionPath }]) => [
      name,
      baseOf(configured[name] ?? url, versionPath),
    ]),
  );
}

/** What paths are appended to: an operator may have written the version path at the end, or left it out. */
function baseOf(url: string, versionPath?: string): URL {
  const base = new URL(url.endsWith('/') ? url : `${url}/`);
  const ending = `/${versionPath}/`;
  if (versionPath !== undefined && base.pathname.endsWith(ending)) {
    base.pathname = base.pathname.slice(0, 1 - ending.length);
  }
  return base;
}

function callbackUrlOf(settings: MediaUpstreamSettings, callbackBase: string | null, taskId: string): string | null {
  const { adapter, name, callbackSecret } = settings;
  if (callbackBase === null || !adapter.callbacks) return null;
  const { proof } = adapter.callbacks;
  if (callbackSecret === null && proof !== 'keys') return null;
  const url = `${callbackBase}/${encodeURIComponent(name)}/${taskId}`;
  return hasAddressMac(settings) ? `${url}?mac=${addressMac(callbackSecret ?? '', taskId)}` : url;
}

/**
 * Where no secret of the operator's signs the announcement itself. A published key proves that the vendor speaks, but not for
 * which of its customers.
 */
function hasAddressMac({ adapter, callbackSecret }: MediaUpstreamSettings): boolean {
  return callbackSecret !== null && adapter.callbacks !== undefined && adapter.callbacks.proof !== 'secret';
}

/** The vendor's published keys, kept for a while. */
function createKeys({ adapter, keysUrl }: MediaUpstreamSettings, dispatcher: Dispatcher) {
  let kept: { readonly keys: readonly JsonWebKey[]; readonly untilMs: number } | null = null;

  return async (): Promise<readonly JsonWebKey[]> => {
    if (kept && kept.untilMs > Date.now()) return kept.keys;
    const url = keysUrl ?? adapter.callbacks?.keysUrl;
    if (url === undefined) return [];
    const answer = await exchange(
      {
        method: 'GET',
        url: new URL(url),
        headers: {},
        dispatcher,
        timeoutMs: PROVIDER_ANSWER_MS,
        maxResponseBytes: MAX_KEYS_BYTES,
      },
      new AbortController().signal,
    );
    const keys = listOf(objectOf(documentOf(answer))['keys']).filter(isObject);
    kept = { keys, untilMs: Date.now() + KEYS_KEPT_MS };
    return keys;
  };
}
