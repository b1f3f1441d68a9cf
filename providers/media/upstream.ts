/** A media upstream for the steps of a task: an adapter with its address, credential and settings. */
import { Agent, type Dispatcher } from 'undici';
import { PROVIDER_ANSWER_MS, RENDER_LIMIT_MS } from '../../domain/step-limits.ts';
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
  type CallbackProof,
  type CallbackRequest,
  InvalidCallbackError,
} from './callbacks.ts';
import { openCredentials } from '../credentials/open.ts';
import type { Credential } from './credentials.ts';
import { isName, JobRefusedError, NotTakenError, OutcomeUnknownError, ProviderUnreachableError } from './outcomes.ts';
import { createPublishedKeys, type PublishedKeys } from './published-keys.ts';
import { assertInRange } from './range.ts';
import { withRouteChanges } from './route-fields.ts';
import {
  createVendorHttp,
  type VendorAnswer,
  type VendorCall,
  type VendorHttp,
  type VendorHttpOptions,
} from './vendor-http.ts';

/** An upstream as the operator configured it. */
export interface MediaUpstreamSettings {
  readonly name: string;
  /** The protocol's name in the upstreams file. */
  readonly protocol: string;
  readonly adapter: MediaAdapter;
  /** Null for the vendor's own address. */
  readonly baseUrl: string | null;
  readonly credential: Credential;
  readonly callbackSecret: string | null;
  /** The address of the vendor's signing keys; null for the usual one. */
  readonly keysUrl: string | null;
  /** Replaces further addresses of the vendor, by the adapter's names for them. */
  readonly addresses: Readonly<Record<string, string>>;
  /** The action for a submission whose outcome cannot be determined. */
  readonly onUnknown: 'give_up' | 'resubmit';
  readonly resultOrigins: readonly string[];
  /** Null for the adapter's own pace. */
  readonly poll: PollPace | null;
}

export interface MediaUpstreamOptions {
  /** Carries the requests to the upstream; by default a pool of its own with keep-alive. */
  readonly dispatcher?: Dispatcher;
  /**
   * Carries requests to addresses that the operator did not configure (downloads from other origins, the vendor's
   * published keys), and decides which addresses may be reached. Without it, none may.
   */
  readonly externalDispatcher?: Dispatcher;
  /** Adds the trace to requests. */
  readonly traced?: (dispatcher: Dispatcher) => Dispatcher;
  /** The address for announcements, without the upstream's name and the task; null if callbacks are off. */
  readonly callbackBase?: string | null;
  /** The clock for signing and for checking announcements, in milliseconds since 1970; `Date.now` by default. */
  readonly nowMs?: () => number;
  readonly timings?: Pick<VendorHttpOptions, 'answerTimeoutMs' | 'downloadIdleTimeoutMs' | 'maxResponseBytes'>;
}

/** The part of callbacks that the api process needs. */
export interface CallbackReader {
  /**
   * Verifies that a callback comes from the upstream, and reads it.
   *
   * @param query the query of the address at which the callback arrived
   * @throws InvalidCallbackError
   */
  readCallback(callback: CallbackRequest, taskId: string, query: URLSearchParams): Promise<Announcement>;
  /** Asks the upstream to stop; not an error if the job has ended or cannot be stopped. */
  cancel(jobId: string, signal: AbortSignal): Promise<void>;
}

export interface MediaUpstream extends CallbackReader {
  readonly name: string;
  /** The vendor: its protocol and its address in canonical form. Job ids are unique per vendor. */
  readonly vendor: string;
  readonly onUnknown: MediaUpstreamSettings['onUnknown'];
  /** Null for a kind that the upstream does not render. */
  traitsOf(kind: TaskKind): KindTraits | null;
  poll(kind: TaskKind): PollPace;
  /** Whether the upstream can stop jobs. */
  readonly canCancel: boolean;
  /** The address to which the upstream should announce the end of a task's job; null without callbacks. */
  callbackUrl(taskId: string): string | null;
  /** The submission for a request, always the same. @throws JobRefusedError if the upstream cannot deliver it */
  prepare(request: RenderRequest): VendorCall;
  /** Submits the job. @throws SubmissionError */
  submit(call: VendorCall, request: RenderRequest, signal: AbortSignal): Promise<Accepted>;
  /**
   * Makes a free call, to see whether the upstream answers and accepts the credential.
   *
   * @throws ProviderUnreachableError
   */
  probe(signal: AbortSignal): Promise<VendorAnswer>;
  /** Finds jobs that may belong to a submission; null if the upstream cannot tell. @throws ProviderUnreachableError */
  find(sent: SentSubmission, signal: AbortSignal): Promise<readonly string[] | null>;
  /** @throws ProviderUnreachableError */
  status(jobId: string, signal: AbortSignal): Promise<JobState>;
  /** @throws ProviderUnreachableError | JobRefusedError with `result_transfer_failed` if the file is gone */
  fetchResult(result: ResultFile, signal: AbortSignal): Promise<ResultDownload>;
  /** Closes the pool, unless the caller passed a dispatcher. */
  close(): Promise<void>;
}

const CONNECTIONS = 128;
const KEEP_ALIVE_MS = 30_000;
/** For answers to submissions, which contain a job or the files. */
const MAX_ANSWER_BYTES = { job: 2 ** 20, files: 128 * 2 ** 20 } as const;

/** @throws TypeError for an invalid address */
export function createMediaUpstream(
  settings: MediaUpstreamSettings,
  options: MediaUpstreamOptions = {},
): MediaUpstream {
  const { adapter, name } = settings;
  const { nowMs = Date.now } = options;
  const pool = options.dispatcher ?? new Agent({ connections: CONNECTIONS, keepAliveTimeout: KEEP_ALIVE_MS });
  const dispatcher = options.traced?.(pool) ?? pool;
  const http = openHttp(settings, options, dispatcher);
  const keys = openKeys(settings, options, dispatcher);

  function traitsFor(kind: TaskKind): KindTraits {
    const traits = adapter.kinds[kind];
    if (!traits) throw new Error(`the upstream ${name} does not render ${kind}s`);
    return traits;
  }

  return {
    name,
    vendor: `${settings.protocol} ${http.base.origin}${http.base.pathname}`,
    onUnknown: settings.onUnknown,
    traitsOf: (kind) => adapter.kinds[kind] ?? null,
    poll: (kind) => settings.poll ?? traitsFor(kind).poll,
    canCancel: adapter.cancel !== undefined,
    callbackUrl: (taskId) => callbackUrlOf(settings, options.callbackBase ?? null, taskId),
    prepare: (request) => prepared(adapter, request, traitsFor(request.kind)),

    async submit(call, request, signal) {
      const { answers, recovery } = traitsFor(request.kind);
      const limits = {
        timeoutMs: answers === 'files' ? RENDER_LIMIT_MS : (options.timings?.answerTimeoutMs ?? PROVIDER_ANSWER_MS),
        maxResponseBytes: options.timings?.maxResponseBytes ?? MAX_ANSWER_BYTES[answers],
        isRepeatable: recovery === 'key',
      };
      const answer = await http.submit(
        call,
        limits,
        (refused) => read(() => adapter.refusal?.(refused) ?? null),
        signal,
      );
      return checkAccepted(read(() => adapter.accepted(answer, request)));
    },

    probe: (signal) => http.sendOnce(adapter.probe ?? { path: '' }, signal),

    async find(sent, signal) {
      const found = adapter.find ? await rethrowAsUnreachable(signal, adapter.find(sent, http, signal)) : null;
      if (found?.some((job) => !isName(job)))
        throw new ProviderUnreachableError('the upstream listed a job without a valid id');
      return found;
    },

    async status(jobId, signal) {
      if (!adapter.status) throw new Error(`the upstream ${name} has no jobs`);
      return rethrowAsUnreachable(signal, adapter.status(jobId, http, signal));
    },

    fetchResult: async (result, signal) => http.download(result, signal),
    cancel: async (jobId, signal) => adapter.cancel?.(jobId, http, signal),

    async readCallback(callback, taskId, query) {
      assertOwnAddress(settings, query, taskId);
      return readAnnouncement(settings, callback, { keys, query, nowMs: nowMs() });
    },

    async close() {
      if (!options.dispatcher) await pool.close();
    },
  };
}

/** @throws JobRefusedError */
function prepared(adapter: MediaAdapter, request: RenderRequest, { range }: KindTraits): VendorCall {
  assertInRange(request, range);
  return withRouteChanges(adapter.submission(request), request.changes);
}

/** @throws InvalidCallbackError */
async function readAnnouncement(
  { adapter: { callbacks }, callbackSecret }: MediaUpstreamSettings,
  callback: CallbackRequest,
  facts: Omit<CallbackProof, 'secret'>,
): Promise<Announcement> {
  const secret = callbackSecret ?? '';
  if (!callbacks || (secret === '' && callbacks.proof !== 'keys')) {
    throw new InvalidCallbackError('Genway accepts no callbacks from this upstream');
  }
  const announcement = await callbacks.read(callback, { ...facts, secret });
  if (announcement.jobId === null || isName(announcement.jobId)) return announcement;
  throw new InvalidCallbackError('the job has no valid id');
}

/** Reads the answer to a submission. @throws OutcomeUnknownError if the adapter cannot read it */
function read<Result>(reading: () => Result): Result {
  try {
    return reading();
  } catch (error) {
    if (error instanceof JobRefusedError || error instanceof NotTakenError || error instanceof OutcomeUnknownError)
      throw error;
    throw new OutcomeUnknownError('Genway cannot read the answer of the upstream', { cause: error });
  }
}

/** Reads the answer to a call that only reads. @throws ProviderUnreachableError if the adapter cannot read it */
async function rethrowAsUnreachable<Result>(signal: AbortSignal, answer: Promise<Result>): Promise<Result> {
  try {
    return await answer;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ProviderUnreachableError) throw error;
    throw new ProviderUnreachableError('Genway cannot read the answer of the upstream', { cause: error });
  }
}

function checkAccepted(accepted: Accepted): Accepted {
  if ('files' in accepted || isName(accepted.jobId)) return accepted;
  throw new OutcomeUnknownError('the upstream returned a job without a valid id');
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
    ownHosts: adapter.ownHosts,
    ...authorizationOf(adapter, settings.credential, nowMs),
    dispatcher,
    externalDispatcher: options.externalDispatcher,
    resultOrigins: settings.resultOrigins,
  });
}

/** The headers with the credential, for each request. */
function authorizationOf(
  adapter: MediaAdapter,
  credential: Credential,
  nowMs: () => number,
): Pick<VendorHttpOptions, 'credential' | 'refused'> {
  if (!('auth' in credential)) return { credential: () => adapter.authorization(credential, nowMs()) };
  const credentials = openCredentials(credential.auth, { nowMs });
  return { credential: (request) => credentials.headersFor(request), refused: (date) => credentials.refused(date) };
}

/** Trusts a `keysUrl` of the operator even if it leads to a private address, like all configured addresses. */
function openKeys(
  { adapter, keysUrl }: MediaUpstreamSettings,
  { externalDispatcher, nowMs = Date.now }: MediaUpstreamOptions,
  dispatcher: Dispatcher,
): PublishedKeys {
  if (keysUrl !== null) return createPublishedKeys(keysUrl, { dispatcher, nowMs });
  return createPublishedKeys(externalDispatcher && adapter.callbacks?.keysUrl, {
    dispatcher: externalDispatcher ?? dispatcher,
    nowMs,
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

/** The base of paths, without the version path, which operators may include in the address or not. */
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
  if (!hasAddressMac(settings)) return url;
  const secret = addressSecret(settings);
  return secret && `${url}?mac=${addressMac(secret, taskId)}`;
}

function hasAddressMac({ adapter }: MediaUpstreamSettings): boolean {
  return adapter.callbacks !== undefined && adapter.callbacks.proof !== 'secret';
}

/** @throws InvalidCallbackError unless the address contains the task's MAC, where addresses have one */
function assertOwnAddress(settings: MediaUpstreamSettings, query: URLSearchParams, taskId: string): void {
  if (!hasAddressMac(settings)) return;
  const secret = addressSecret(settings);
  if (secret === null) throw new InvalidCallbackError('callbacks of an upstream with auth need a callback_secret');
  assertAddress(query.get('mac'), secret, taskId);
}

/**
 * A published key proves that the vendor sent an announcement, but not for which of its customers. Without a secret, a
 * MAC keyed with the credential makes an address that no other customer can know. Null if neither exists: tokens expire.
 */
function addressSecret({ callbackSecret, credential }: MediaUpstreamSettings): string | null {
  if (callbackSecret !== null || 'auth' in credential) return callbackSecret;
  return 'apiKey' in credential ? credential.apiKey : credential.secretKey;
}
