/** The documents of the HTTP job protocol (docs/provider-protocol.md), read with suspicion: an upstream may send anything. */
import { isTaskErrorCode, type TaskErrorCode } from '../../domain/errors.ts';
import {
  JobRefusedError,
  ProviderUnreachableError,
  type JobResult,
  type JobState,
  type RenderRequest,
} from '../media-provider.ts';

const JOB_ID = /^[A-Za-z0-9][\w.:-]{0,199}$/;
const MAX_WORDS_LENGTH = 500;
const MAX_RESULTS = 16;
const WEB_PROTOCOLS: readonly string[] = ['http:', 'https:'];
const ACCESS_STATUSES: readonly number[] = [401, 403];

/** The codes whose cause only the upstream knows, and which a client can act on: its own words are passed on. */
const CODES_WITH_WORDS: readonly TaskErrorCode[] = ['bad_request', 'content_policy_violation'];

/** What clients read instead of, or for want of, the upstream's words. */
const MESSAGES: Readonly<Record<TaskErrorCode, string>> = {
  bad_request:
    'The model could not use this request. Check the prompt, the options and that every link is public and of a supported format.',
  content_policy_violation:
    'The prompt, an input or the result was refused by moderation. Change the prompt or the inputs.',
  processing_unavailable:
    'The model is temporarily unavailable or out of capacity. Try again later or use another model.',
  processing_timeout: 'The model did not finish in time. Try again later.',
  processing_failed: 'The model could not finish this task. Try again later.',
  result_transfer_failed: 'The result was generated but could not be fetched. Try again later.',
};

/** The body of a submission. Absent options are left out. */
export function presentSubmission(request: RenderRequest): object {
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
    background: request.background,
    callback_url: request.callbackUrl,
  };
}

/**
 * The id of the job that a document describes.
 *
 * @param taskId whose job it must be; another one's files must never reach a client
 * @throws ProviderUnreachableError when it is not, or has no valid id
 */
export function jobIdOf(document: unknown, taskId: string): string {
  const { id, key } = isObject(document) ? document : {};
  if (key !== taskId) throw new ProviderUnreachableError('the upstream answered with the job of another key');
  if (typeof id === 'string' && JOB_ID.test(id)) return id;
  throw new ProviderUnreachableError('the upstream named no valid job id');
}

/** The id of the only job of a list document, or null when it is empty. @throws ProviderUnreachableError */
export function listedJobIdOf(document: unknown, taskId: string): string | null {
  const jobs = isObject(document) ? document['data'] : undefined;
  if (!Array.isArray(jobs)) throw new ProviderUnreachableError('the upstream sent no list of jobs');
  return jobs.length === 0 ? null : jobIdOf(jobs[0], taskId);
}

/**
 * The state that a job document tells.
 *
 * @param jobId the job that was asked for
 * @param base what relative result links start from
 * @throws ProviderUnreachableError when the document makes no sense
 */
export function jobStateOf(document: unknown, jobId: string, base: URL): JobState {
  const job = isObject(document) ? document : {};
  if (job['id'] !== jobId) throw new ProviderUnreachableError('the upstream answered about another job');
  switch (job['status']) {
    case 'queued':
    case 'running':
      return { state: 'running', progressPercent: percentOf(job['progress_percent']), detail: wordsOf(job['detail']) };
    case 'succeeded':
      return finished(resultsOf(job['results'], base));
    case 'failed': {
      const code = codeOf(document) ?? 'processing_failed';
      return { state: 'failed', code, message: messageFor(code, document) };
    }
    case 'cancelled':
      return { state: 'failed', code: 'processing_failed', message: MESSAGES.processing_failed };
    default:
      throw new ProviderUnreachableError('the upstream sent a job without a known status');
  }
}

/** Whether an answer says, in the words of the protocol, that there is no such job. A proxy's 404 does not. */
export function saysNotFound(status: number, document: unknown): boolean {
  return status === 404 && errorOf(document)['code'] === 'not_found';
}

/** The verdict of a refused submission: a 4xx answer. What concerns our credential is no fault of the client's. */
export function refusalOf(status: number, document: unknown): JobRefusedError {
  const code = ACCESS_STATUSES.includes(status) ? 'processing_unavailable' : (codeOf(document) ?? 'processing_failed');
  return new JobRefusedError(code, messageFor(code, document));
}

/** The verdict on a file that cannot be fetched. */
export function resultGone(): JobRefusedError {
  return new JobRefusedError('result_transfer_failed', MESSAGES.result_transfer_failed);
}

/** A job that succeeded without a file that could be fetched will not get better by waiting. */
function finished(results: readonly JobResult[] | null): JobState {
  if (results) return { state: 'succeeded', results };
  return { state: 'failed', code: 'result_transfer_failed', message: MESSAGES.result_transfer_failed };
}

function codeOf(document: unknown): TaskErrorCode | undefined {
  const code = errorOf(document)['code'];
  return typeof code === 'string' && isTaskErrorCode(code) ? code : undefined;
}

function messageFor(code: TaskErrorCode, document: unknown): string {
  const words = CODES_WITH_WORDS.includes(code) ? wordsOf(errorOf(document)['message']) : null;
  return words ?? MESSAGES[code];
}

function errorOf(document: unknown): Readonly<Record<string, unknown>> {
  const error = isObject(document) ? document['error'] : undefined;
  return isObject(error) ? error : {};
}

/** @returns null when there is no list of files that could be fetched */
function resultsOf(results: unknown, base: URL): JobResult[] | null {
  if (!Array.isArray(results) || results.length === 0 || results.length > MAX_RESULTS) return null;
  const files = results.map((result) => resultOf(result, base)).filter((file) => file !== null);
  return files.length === results.length ? files : null;
}

function resultOf(result: unknown, base: URL): JobResult | null {
  const { url: link, mime_type: mimeType } = isObject(result) ? result : {};
  if (typeof link !== 'string' || !URL.canParse(link, base.href)) return null;
  const url = new URL(link, base);
  if (!WEB_PROTOCOLS.includes(url.protocol)) return null;
  return { url: url.href, mimeType: typeof mimeType === 'string' ? mimeType : null };
}

function percentOf(value: unknown): number | null {
  return typeof value === 'number' && value >= 0 && value <= 100 ? value : null;
}

/** Another party's words, fit to be shown: on one line, of bounded length, without characters that steer a display. */
function wordsOf(value: unknown): string | null {
  if (typeof value !== 'string') return null;
  const clean = value
    .slice(0, MAX_WORDS_LENGTH)
    .replace(/[\p{C}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim();
  return clean === '' ? null : clean;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
