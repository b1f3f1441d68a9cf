/** The HTTP job protocol: docs/provider-protocol.md. */
import { createHmac } from 'node:crypto';
import { isTaskErrorCode, type TaskErrorCode } from '../../../domain/errors.ts';
import { chooseValues } from '../../../domain/image-choices.ts';
import { isObject, listOf, objectOf } from '../../../domain/json.ts';
import { isSameSecret } from '../../../domain/same-secret.ts';
import type { JobState, KindTraits, MediaAdapter, RenderRequest } from '../adapter.ts';
import type { ResultFile } from '../result-file.ts';
import {
  type Announcement,
  assertRecent,
  type CallbackFormat,
  headerOf,
  InvalidCallbackError,
  parseCallbackBody,
} from '../callbacks.ts';
import { bearer } from '../credentials.ts';
import { assertCancelled, documentOf, isVerdict } from '../exchange.ts';
import { failed, running, unfinished } from '../job-state.ts';
import { endIn, mergeParams } from '../json.ts';
import { JobRefusedError, NotTakenError, OutcomeUnknownError, ProviderUnreachableError } from '../outcomes.ts';
import { ANY_RANGE } from '../range.ts';
import type { VendorAnswer } from '../vendor-http.ts';
import { parseUrl } from '../../../domain/parse-url.ts';

const JOB_ID = /^[A-Za-z0-9][\w.:-]{0,199}$/;
const MAX_RESULTS = 16;
const WEB_PROTOCOLS: readonly string[] = ['http:', 'https:'];
const ACCESS_STATUSES: readonly number[] = [401, 403];
/** Statuses that blame the request: a parameter, its size or its type, or an input that could not be fetched. */
const REQUEST_STATUSES: readonly number[] = [400, 413, 415, 422, 424];
/** Statuses that blame the upstream's operator unless a code of the protocol says otherwise. */
const OPERATOR_STATUSES: readonly number[] = [402, 404];
/** With these statuses, a cancellation reports that the job does not exist or has ended. */
const ENDED_STATUSES: readonly number[] = [404, 409, 410];

const TRAITS: KindTraits = {
  answers: 'job',
  recovery: 'key',
  inputs: 'links',
  poll: { firstMs: 200, everyMs: 2_000 },
  range: ANY_RANGE,
};

const callbacks: CallbackFormat = {
  proof: 'secret',
  read({ headers, rawBody }, { secret, nowMs }): Announcement {
    const timestamp = headerOf(headers, 'x-job-timestamp');
    const signature = Buffer.from(headerOf(headers, 'x-job-signature'), 'hex');
    const expected = createHmac('sha256', secret).update(`${timestamp}.`).update(rawBody).digest();
    if (!isSameSecret(expected, signature)) throw new InvalidCallbackError('the signature does not match the body');
    assertRecent(timestamp, nowMs);
    const { id, key } = objectOf(parseCallbackBody(rawBody));
    if (typeof id !== 'string' || typeof key !== 'string') throw new InvalidCallbackError('the body names no job');
    return { jobId: id, taskId: key };
  },
};

export const httpJobs: MediaAdapter = {
  kinds: { image: TRAITS, video: TRAITS },
  baseUrl: null,
  authorization: bearer,
  probe: { path: 'v1/jobs', query: { key: 'genway-probe' } },
  callbacks,

  submission: (request) => ({
    path: 'v1/jobs',
    headers: { 'idempotency-key': request.taskId },
    body: { json: mergeParams(presentSubmission(request), request.params) },
  }),

  accepted: ({ document }, { taskId }) => ({ jobId: jobIdOf(document, taskId) }),

  refusal({ status, document }) {
    if (ACCESS_STATUSES.includes(status)) {
      return new NotTakenError(`the upstream answered ${status}`, { isRouteExcluded: true });
    }
    const code = codeOf(document);
    if (!isVerdict(status) || (!code && OPERATOR_STATUSES.includes(status))) return null;
    const usual = REQUEST_STATUSES.includes(status) ? 'bad_request' : 'processing_failed';
    return new JobRefusedError(code ?? usual, errorOf(document)['message']);
  },

  async find({ request: { taskId } }, http, signal) {
    const answer = await http.send({ path: 'v1/jobs', query: { key: taskId } }, signal);
    const jobs = objectOf(documentOf(answer))['data'];
    if (!Array.isArray(jobs)) throw new ProviderUnreachableError('the upstream sent no list of jobs');
    return jobs.slice(0, 1).map((job) => jobIdOf(job, taskId));
  },

  async status(jobId, http, signal) {
    const answer = await http.send({ path: jobPath(jobId) }, signal);
    if (saysNotFound(answer)) return { state: 'unknown' };
    return jobStateOf(documentOf(answer), jobId, http.base);
  },

  async cancel(jobId, http, signal) {
    const answer = await http.send({ method: 'POST', path: `${jobPath(jobId)}/cancel` }, signal);
    assertCancelled(answer, ENDED_STATUSES);
  },
};

/** The body of a submission. JSON omits undefined options. */
function presentSubmission(request: RenderRequest): Readonly<Record<string, unknown>> {
  return {
    kind: request.kind,
    model: request.model,
    prompt: request.prompt,
    images: request.images,
    reference_videos: request.referenceVideos,
    reference_audios: request.referenceAudios,
    duration_seconds: request.durationSeconds,
    aspect_ratio: request.aspectRatio,
    resolution: request.resolution,
    width: request.width,
    height: request.height,
    ...chooseValues((name) => request[name]),
    callback_url: request.callbackUrl,
  };
}

function jobPath(jobId: string): string {
  return `v1/jobs/${encodeURIComponent(jobId)}`;
}

/** @param taskId the task to which the job must belong: files of another task must never reach a client */
function jobIdOf(document: unknown, taskId: string): string {
  const { id, key } = objectOf(document);
  if (key !== taskId) throw new OutcomeUnknownError('the upstream answered with the job of another key');
  if (typeof id === 'string' && JOB_ID.test(id)) return id;
  throw new OutcomeUnknownError('the upstream sent no valid job id');
}

function jobStateOf(document: unknown, jobId: string, base: URL): JobState {
  const job = objectOf(document);
  if (job['id'] !== jobId) throw new ProviderUnreachableError('the upstream answered about another job');
  const end = endIn(job['ended_at']);
  switch (job['status']) {
    case 'queued':
    case 'running':
      return running(job['detail'], job['progress_percent']);
    case 'succeeded':
      return { state: 'succeeded', results: resultsOf(job['results'], base), ...end };
    case 'failed':
      return failed(codeOf(document) ?? 'processing_failed', errorOf(document)['message'], end);
    case 'cancelled':
      return failed('processing_failed', undefined, end);
    default:
      return unfinished(job['status'], []);
  }
}

/** Whether the answer is the protocol's own "not found", as opposed to a proxy's 404. */
function saysNotFound({ status, document }: VendorAnswer): boolean {
  return status === 404 && errorOf(document)['code'] === 'not_found';
}

function codeOf(document: unknown): TaskErrorCode | undefined {
  const code = errorOf(document)['code'];
  return typeof code === 'string' && isTaskErrorCode(code) ? code : undefined;
}

function errorOf(document: unknown): Readonly<Record<string, unknown>> {
  return objectOf(objectOf(document)['error']);
}

/** Returns no file if the list is too long, or if one of its files has no usable link. */
function resultsOf(results: unknown, base: URL): readonly ResultFile[] {
  const listed = listOf(results);
  if (listed.length > MAX_RESULTS) return [];
  const files = listed.map((result) => resultOf(result, base)).filter((file) => file !== null);
  return files.length === listed.length ? files : [];
}

function resultOf(result: unknown, base: URL): ResultFile | null {
  if (!isObject(result)) return null;
  const { url: link, mime_type: mimeType } = result;
  const url = typeof link === 'string' ? parseUrl(link, base) : null;
  if (url === null || !WEB_PROTOCOLS.includes(url.protocol)) return null;
  return { url: url.href, mimeType: typeof mimeType === 'string' ? mimeType : null };
}
