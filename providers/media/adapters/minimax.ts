/**
 * MiniMax's second video API (docs/vendors/minimax.md). Its tasks resemble Ark's, with other addresses and field names.
 * Genway uses no callbacks here, because the callback address would first have to answer a challenge.
 */
import { isObject, type JsonObject, listOf, objectOf } from '../../../domain/json.ts';
import type { VendorCost } from '../../../domain/media-route.ts';
import type { JobState, KindTraits, MediaAdapter, RenderRequest } from '../adapter.ts';
import { contentItems, hasReferences, isCreatedSince } from '../content-items.ts';
import { bearer } from '../credentials.ts';
import { assertCancelled, documentOf } from '../exchange.ts';
import { failed, unfinished } from '../job-state.ts';
import { costIn, endIn, mergeParams } from '../json.ts';
import { ProviderUnreachableError, type SubmissionError, textOf } from '../outcomes.ts';
import { ANY_RANGE } from '../range.ts';
import { requireVendorResolution } from '../resolutions.ts';
import { type CodeMeaning, jobVerdictFor, submissionErrorFor } from '../vendor-codes.ts';
import { retryAfterMs, type VendorAnswer } from '../vendor-http.ts';
import { cleanVendorMessage } from '../vendor-message.ts';
import { minimaxCodes, minimaxStatuses } from './minimax-codes.ts';

const SUBMISSIONS = 'v2/video_generation';
const TASKS = 'v2/query/video_generation';

/** The vendor's names for resolutions. 768P is the nearest to 720p. */
const RESOLUTIONS = { '480p': '480P', '720p': '768P', '768p': '768P', '2k': '2K' };
const VIDEO: KindTraits = {
  answers: 'job',
  recovery: 'exclusion',
  inputs: 'links',
  poll: { firstMs: 5_000, everyMs: 10_000 },
  range: { ...ANY_RANGE, pixels: 'own' },
  resolutions: RESOLUTIONS,
};

const UNFINISHED: readonly unknown[] = ['queued', 'running'];
const PAGE_SIZE = 20;
const MAX_PAGES = 20;
/** For example `invalid params (2013)`. */
const CODE_IN_WORDS = /\((\d{4,5})\)$/;
/** With these statuses, a cancellation reports that the task cannot be stopped because it runs or has ended. */
const ENDED_STATUSES: readonly number[] = [400, 404, 409];

export const minimax: MediaAdapter = {
  kinds: { video: VIDEO },
  baseUrl: 'https://api.minimax.io',
  versionPath: 'v2',
  authorization: bearer,
  probe: { path: TASKS, query: { page_num: 1, page_size: 1 } },

  submission(request) {
    return { path: SUBMISSIONS, body: { json: mergeParams(videoOf(request), request.params) } };
  },

  accepted(answer) {
    const document = objectOf(answer.document);
    const { status_code: code = 0, status_msg: vendorMessage } = objectOf(document['base_resp']);
    // An unknown code leaves the outcome unknown.
    if (code !== 0) throw refusalBy(minimaxCodes.meaningOf(code) ?? 'failed', vendorMessage, answer);
    return { jobId: textOf(document['task_id'], 'task id') };
  },

  refusal(answer) {
    const { error } = objectOf(answer.document);
    if (!isObject(error)) return null;
    const { message } = error;
    const [, code] = CODE_IN_WORDS.exec(String(message)) ?? [];
    const means = minimaxCodes.meaningOf(code) ?? minimaxStatuses.meaningOf(answer.status);
    return means && refusalBy(means, message, answer);
  },

  async find(sent, http, signal) {
    const found: string[] = [];
    for (let page = 1; page <= MAX_PAGES; page += 1) {
      const query = { page_num: page, page_size: PAGE_SIZE, 'filter.model': sent.request.model };
      const items = itemsOf(readDocument(await http.send({ path: TASKS, query }, signal)));
      const recent = items.filter((item) => isCreatedSince(item, sent));
      found.push(...recent.map(({ id }) => textOf(id, 'task id')));
      // The vendor may shorten pages, so only an older task, or an empty page, proves that no newer task is missing.
      if (items.length === 0 || recent.length < items.length) return found;
    }
    throw new ProviderUnreachableError('the upstream lists more tasks than Genway reads');
  },

  async status(jobId, http, signal) {
    const answer = await http.send({ path: pathOf(TASKS, jobId) }, signal);
    if (isMissing(answer)) return { state: 'unknown' };
    return stateOf(objectOf(readDocument(answer)['task']));
  },

  async cancel(jobId, http, signal) {
    // Deleting a task that has ended would delete its record.
    const { task } = readDocument(await http.send({ path: pathOf(TASKS, jobId) }, signal));
    if (objectOf(task)['status'] !== 'queued') return;
    const answer = await http.send({ method: 'DELETE', path: pathOf(SUBMISSIONS, jobId) }, signal);
    assertCancelled(answer, ENDED_STATUSES);
  },
};

/**
 * Reads the answer to a call that only reads. The vendor may report an error with status 200.
 *
 * @throws ProviderUnreachableError
 */
function readDocument(answer: VendorAnswer): JsonObject {
  const document = objectOf(documentOf(answer));
  const { status_code: code = 0 } = objectOf(document['base_resp']);
  if (code === 0) return document;
  throw new ProviderUnreachableError(`the upstream answered code ${JSON.stringify(code)}`, {
    retryAfterMs: retryAfterMs(answer),
  });
}

function pathOf(folder: string, jobId: string): string {
  return `${folder}/${encodeURIComponent(jobId)}`;
}

function videoOf(request: RenderRequest): JsonObject {
  const { model, durationSeconds, aspectRatio, resolution = '768p', images = [] } = request;
  // A video with a first frame has the shape of the frame.
  const isFramed = images.length > 0 && !hasReferences(request);
  return {
    model,
    content: contentItems(request),
    resolution: requireVendorResolution(RESOLUTIONS, resolution),
    ...(durationSeconds !== undefined && { duration: durationSeconds }),
    ...(aspectRatio !== undefined && !isFramed && { ratio: aspectRatio }),
  };
}

/** @throws ProviderUnreachableError unless the newest tasks come first: otherwise a page proves nothing */
function itemsOf(document: unknown): readonly JsonObject[] {
  const { items } = objectOf(document);
  if (!Array.isArray(items)) throw new ProviderUnreachableError('the upstream sent no list of tasks');
  const tasks = listOf(items).map(objectOf);
  const times = tasks.map(({ created_at: createdAt }) => Number(createdAt));
  const isOrdered = times.every((time, index) => index === 0 || time <= (times[index - 1] ?? Number.NaN));
  if (!isOrdered) throw new ProviderUnreachableError('the upstream does not list the newest tasks first');
  return tasks;
}

/** The vendor reports the id as invalid if the task does not exist or is older than a week. */
function isMissing({ status, document }: VendorAnswer): boolean {
  const { message } = objectOf(objectOf(document)['error']);
  return isObject(document) && (status === 404 || (status === 400 && /invalid task_id/i.test(String(message))));
}

function stateOf(task: JsonObject): JobState {
  const { status, content, error, updated_at: endedAt } = task;
  if (status === 'succeeded') {
    const { url } = objectOf(content);
    const results = typeof url === 'string' ? [{ url, mimeType: 'video/mp4' }] : [];
    return { state: 'succeeded', results, ...costOf(task), ...endIn(endedAt) };
  }
  if (status === 'failed' || status === 'cancelled' || status === 'expired') {
    const { code, message } = objectOf(error);
    const verdict = status === 'expired' ? 'processing_timeout' : jobVerdictFor(minimaxCodes.meaningOf(code));
    return failed(verdict, message, { ...costOf(task), ...endIn(endedAt) });
  }
  return unfinished(status, UNFINISHED);
}

/** MiniMax charges for videos by the second, including the reference videos. */
function costOf({ usage }: JsonObject): { readonly cost?: VendorCost } {
  return costIn(objectOf(usage)['total_seconds'], 'seconds');
}

function refusalBy(means: CodeMeaning, vendorMessage: unknown, answer: VendorAnswer): SubmissionError {
  const operatorMessage = `the upstream answered ${answer.status}: ${cleanVendorMessage(vendorMessage) ?? 'no reason'}`;
  return submissionErrorFor(means, { operatorMessage, vendorMessage, retryAfterMs: retryAfterMs(answer) });
}
