/**
 * fal's queue (docs/vendors/fal.md), `@fal-ai/client` 1.10. The body is the model's own input; each model has its own
 * fields. A job is identified by its app, the first two parts of the model's name, and its request id. A request that
 * has COMPLETED may have failed: only its response shows which.
 */
import { createHash } from 'node:crypto';
import type { TaskErrorCode } from '../../../domain/errors.ts';
import { isObject, type JsonObject, listOf, objectOf } from '../../../domain/json.ts';
import type { FieldNames } from '../../../domain/media-route.ts';
import { STORE_SURELY_OVER_MS } from '../../../domain/step-limits.ts';
import type { JobState, KindTraits, MediaAdapter, RenderRequest, SentSubmission } from '../adapter.ts';
import { assertRecent, type CallbackFormat, headerOf, parseCallbackBody } from '../callbacks.ts';
import { authorizationScheme } from '../credentials.ts';
import { assertCancelled, documentOf, isMissing, isSuccess, isVerdict } from '../exchange.ts';
import { fieldsOf } from '../fields.ts';
import { failed, running, unfinished } from '../job-state.ts';
import { fingerprintOf, mergeParams } from '../json.ts';
import { lifetimeSecondsOf } from '../lifetime.ts';
import { JobRefusedError, ProviderUnreachableError, type SubmissionError, textOf } from '../outcomes.ts';
import { ANY_RANGE } from '../range.ts';
import type { ResultFile } from '../result-file.ts';
import { assertEd25519 } from '../signatures/ed25519.ts';
import { jobVerdictFor } from '../vendor-codes.ts';
import type { VendorAnswer, VendorHttp } from '../vendor-http.ts';
import { cleanVendorMessage } from '../vendor-message.ts';
import { falModelTypes, falRequestTypes } from './fal-codes.ts';
import { parseUrl } from '../../../domain/parse-url.ts';

/** Each model has its own fields: the route maps them. */
const TRAITS = { answers: 'job', recovery: 'content', inputs: 'links', range: ANY_RANGE } as const;
const IMAGE: KindTraits = { ...TRAITS, poll: { firstMs: 2_000, everyMs: 5_000 } };
const VIDEO: KindTraits = { ...TRAITS, poll: { firstMs: 5_000, everyMs: 15_000 } };

const USUAL_FIELDS: Readonly<Record<'image' | 'video', FieldNames>> = {
  image: { prompt: { to: 'prompt' }, image: { to: 'image_url' }, size: { to: 'image_size', as: 'object' } },
  video: {
    prompt: { to: 'prompt' },
    image: { to: 'image_url' },
    duration: { to: 'duration' },
    aspect_ratio: { to: 'aspect_ratio' },
    resolution: { to: 'resolution' },
  },
};

const UNFINISHED: readonly unknown[] = ['IN_QUEUE', 'IN_PROGRESS'];

const REQUESTS_PATH = 'v1/models/requests/by-endpoint';
const PAGE_SIZE = 100;
const MAX_PAGES = 10;
/**
 * fal orders its list by completion time, updates the list minutes late, and omits running requests: a request that is
 * missing from the list may still exist until this time has passed.
 */
const LIST_LAG_MS = 15 * 60_000;
/** Apps whose names start with one of these have three parts. */
const NAMESPACES: readonly unknown[] = ['workflows', 'comfy'];
/** With these statuses, a cancellation reports that the request has ended or does not exist. */
const ENDED_STATUSES: readonly number[] = [400, 404, 409];
/** Statuses of answers about the fields of a request. */
const INVALID_STATUSES: readonly number[] = [400, 422];
/** Statuses about our account, not about a request. */
const ACCOUNT_STATUSES: readonly number[] = [401, 402, 403];
/** Answers of the infrastructure in front of the models, unless they contain a model's error. */
const GATEWAY_STATUSES: readonly number[] = [502, 503, 504];

/** The address contains the app, which the body lacks, and a MAC, because fal's keys also sign for other customers. */
const callbacks: CallbackFormat = {
  proof: 'keys',
  keysUrl: 'https://rest.alpha.fal.ai/.well-known/jwks.json',
  async read({ headers, rawBody }, { keys, query, nowMs }) {
    const timestamp = headerOf(headers, 'x-fal-webhook-timestamp');
    assertRecent(timestamp, nowMs);
    const message = [
      headerOf(headers, 'x-fal-webhook-request-id'),
      headerOf(headers, 'x-fal-webhook-user-id'),
      timestamp,
      createHash('sha256').update(rawBody).digest('hex'),
    ].join('\n');
    await assertEd25519(message, headerOf(headers, 'x-fal-webhook-signature'), keys);
    const id = objectOf(parseCallbackBody(rawBody))['request_id'];
    const app = query.get('app');
    return { jobId: app !== null && typeof id === 'string' && cleanVendorMessage(id) === id ? `${app}|${id}` : null };
  },
};

export const fal: MediaAdapter = {
  kinds: { image: IMAGE, video: VIDEO },
  baseUrl: 'https://queue.fal.run',
  authorization: authorizationScheme('Key'),
  // No request has this id: 404 with a valid key, 401 without.
  probe: { path: 'fal-ai/flux/requests/00000000-0000-0000-0000-000000000000/status' },
  addresses: { requests: { url: 'https://api.fal.ai', versionPath: 'v1' } },
  callbacks,

  submission(request) {
    const body = mergeParams(fieldsOf(request, USUAL_FIELDS[request.kind]), request.params);
    return {
      path: request.model,
      query: { fal_webhook: callbackUrlOf(request) },
      headers: headersFor(request),
      body: { json: body },
      identity: body,
    };
  },

  accepted({ document }, { model }) {
    const { request_id: id, response_url: address } = objectOf(document);
    return { jobId: jobIdOf(appIn(address) ?? appOf(model), id) };
  },

  refusal: ({ status, document }) => refusalOf(status, document),

  async find(sent, http, signal) {
    const found = await findRequests(sent, http, signal);
    if (found.length > 0) return found;
    if (Date.now() - sent.since.getTime() > LIST_LAG_MS) return null;
    throw new ProviderUnreachableError('the upstream does not list the submission yet, and the list may lag behind');
  },

  async status(jobId, http, signal) {
    const path = pathOf(jobId);
    const answer = await http.send({ path: `${path}/status` }, signal);
    if (isMissing(answer)) return { state: 'unknown' };
    const { status, error, error_type: type } = objectOf(documentOf(answer));
    if (status !== 'COMPLETED') return unfinished(status, UNFINISHED);
    // Without a runner there is no response of a model, and the answer in its place may have no type.
    if (falRequestTypes.meaningOf(type) !== null) return failed(verdictOf(String(type), answer.status), error);
    return endOf(await http.send({ path }, signal));
  },

  async cancel(jobId, http, signal) {
    const answer = await http.send({ method: 'PUT', path: `${pathOf(jobId)}/cancel` }, signal);
    assertCancelled(answer, ENDED_STATUSES);
  },
};

/** Without the first two headers, another model may render instead. The vendor's documents use both spellings. */
function headersFor(request: RenderRequest): Readonly<Record<string, string>> {
  const seconds = Math.max(lifetimeSecondsOf(request), 1);
  return {
    'x-app-fal-disable-fallback': 'true',
    'x-app-fal-disable-fallbacks': 'true',
    // Limits how long an abandoned request waits for its start.
    'x-fal-request-timeout': String(seconds),
    // Links to files need no credential, so they expire once no step of the task can fetch them any more.
    'x-fal-object-lifecycle-preference': JSON.stringify({
      expiration_duration_seconds: seconds + STORE_SURELY_OVER_MS / 1000,
    }),
  };
}

function callbackUrlOf({ callbackUrl, model }: RenderRequest): string | undefined {
  if (callbackUrl === undefined) return undefined;
  const url = new URL(callbackUrl);
  url.searchParams.set('app', appOf(model));
  return url.href;
}

/** The part of a model's name in addresses of requests: `fal-ai/veo3.1` of `fal-ai/veo3.1/image-to-video`. */
function appOf(model: string): string {
  const parts = model.split('/');
  return parts.slice(0, NAMESPACES.includes(parts[0]) ? 3 : 2).join('/');
}

/** The app in the address of the response. */
function appIn(address: unknown): string | null {
  const url = typeof address === 'string' ? parseUrl(address) : null;
  if (url === null) return null;
  const parts = url.pathname.split('/');
  const end = parts.indexOf('requests');
  const start = end - (NAMESPACES.includes(parts[end - 3] ?? '') ? 3 : 2);
  const app = parts.slice(Math.max(start, 0), Math.max(end, 0));
  return app.length >= 2 && !app.includes('') && end < parts.length - 1 ? app.join('/') : null;
}

function jobIdOf(app: string, id: unknown): string {
  return `${app}|${textOf(id, 'request id')}`;
}

function pathOf(jobId: string): string {
  const [app = '', id = ''] = jobId.split('|');
  return `${app.split('/').map(encodeURIComponent).join('/')}/requests/${encodeURIComponent(id)}`;
}

async function findRequests(
  { request, fingerprint, since }: SentSubmission,
  http: VendorHttp,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const found: string[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const query = {
      endpoint_id: request.model,
      start: since.toISOString(),
      limit: PAGE_SIZE,
      expand: 'payloads',
      cursor,
    };
    const base = http.addresses['requests'] ?? http.base;
    const answer = await http.send({ base, path: REQUESTS_PATH, query }, signal);
    const { items, next_cursor: next } = objectOf(documentOf(answer));
    const same = listOf(items)
      .map(objectOf)
      .filter(({ json_input: input, sent_at: at }) => fingerprintOf(input) === fingerprint && isSince(at, since));
    found.push(...same.map(({ request_id: id }) => jobIdOf(appOf(request.model), id)));
    if (typeof next !== 'string' || next === '') return found;
    cursor = next;
  }
  throw new ProviderUnreachableError('the upstream lists more requests than Genway reads');
}

function isSince(at: unknown, since: Date): boolean {
  return typeof at !== 'string' || !(Date.parse(at) < since.getTime());
}

/** Reads the response of a completed request. */
function endOf(answer: VendorAnswer): JobState {
  const { status, document } = answer;
  if (isSuccess(answer)) return outputOf(objectOf(documentOf(answer)));
  const { code, vendorMessage } = errorOf(answer);
  const isOfRequest = isVerdict(status) ? !ACCOUNT_STATUSES.includes(status) : status >= 500;
  const isNamed = code !== undefined || !GATEWAY_STATUSES.includes(status);
  if (!isOfRequest || !isNamed || !isObject(document))
    throw new ProviderUnreachableError(`the upstream answered ${status}`);
  if (/still in progress/i.test(String(vendorMessage))) return running(vendorMessage);
  return failed(verdictOf(code, status), vendorMessage);
}

function outputOf(output: JsonObject): JobState {
  const { images, image, videos, video, has_nsfw_concepts: flags } = output;
  // A flagged image is delivered, but it is black.
  if (listOf(flags).includes(true)) return failed('content_policy_violation');
  return { state: 'succeeded', results: [...listOf(images), image, ...listOf(videos), video].flatMap(fileOf) };
}

function fileOf(file: unknown): readonly ResultFile[] {
  const { url, content_type: type } = objectOf(file);
  return typeof url === 'string' ? [{ url, mimeType: typeof type === 'string' ? type : null }] : [];
}

interface FalError {
  /** The type of a model's error, or of the infrastructure's. */
  readonly code: string | undefined;
  readonly vendorMessage: unknown;
}

function errorOf({ document, headers }: Pick<VendorAnswer, 'document' | 'headers'>): FalError {
  const { detail, error_type: type } = objectOf(document);
  const { type: kind, msg } = objectOf(listOf(detail)[0]);
  const code = [kind, type, headers['x-fal-error-type']].find((one) => typeof one === 'string');
  return { code, vendorMessage: msg ?? detail };
}

function refusalOf(status: number, document: unknown): SubmissionError | null {
  if (!INVALID_STATUSES.includes(status)) return null;
  const { code, vendorMessage } = errorOf({ document, headers: {} });
  return new JobRefusedError(verdictOf(code, status), vendorMessage);
}

/** With a status in {@link INVALID_STATUSES}, an unknown error type blames the request. */
function verdictOf(code: string | undefined, status: number): TaskErrorCode {
  const means = falModelTypes.meaningOf(code) ?? falRequestTypes.meaningOf(code);
  return jobVerdictFor(means ?? (INVALID_STATUSES.includes(status) ? 'bad_request' : 'failed'));
}
