/**
 * Ark, the model platform of ByteDance (docs/vendors/ark.md): videos are tasks, images are in the answer. Ark cannot
 * find a task by our id or by its prompt. Ark's list shows model and time, so Genway finds the task of a submission with
 * an unknown outcome by exclusion: the only task that belongs to no other submission.
 */
import { isObject, type JsonObject, listOf, objectOf } from '../../../domain/json.ts';
import type { VendorCost } from '../../../domain/media-route.ts';
import type { JobState, KindTraits, MediaAdapter, RenderRequest } from '../adapter.ts';
import { type CallbackFormat, parseCallbackBody } from '../callbacks.ts';
import { contentItems, isCreatedSince } from '../content-items.ts';
import { bearer } from '../credentials.ts';
import { assertCancelled, documentOf, isMissing } from '../exchange.ts';
import { failed, unfinished } from '../job-state.ts';
import { costIn, endIn, mergeParams } from '../json.ts';
import { lifetimeSecondsOf } from '../lifetime.ts';
import {
  JobRefusedError,
  OutcomeUnknownError,
  ProviderUnreachableError,
  type SubmissionError,
  textOf,
} from '../outcomes.ts';
import { ANY_RANGE } from '../range.ts';
import { requireVendorResolution } from '../resolutions.ts';
import type { ResultFile } from '../result-file.ts';
import { type CodeMeaning, jobVerdictFor, submissionErrorFor } from '../vendor-codes.ts';
import { retryAfterMs, type VendorAnswer } from '../vendor-http.ts';
import { arkCodes, QUOTA_EXCEEDED } from './ark-codes.ts';

const TASKS = 'api/v3/contents/generations/tasks';
const IMAGES = 'api/v3/images/generations';

const RESOLUTIONS = { '480p': '480p', '720p': '720p', '1080p': '1080p', '4k': '4k' };
const VIDEO: KindTraits = {
  answers: 'job',
  recovery: 'exclusion',
  inputs: 'links',
  poll: { firstMs: 5_000, everyMs: 15_000 },
  range: { ...ANY_RANGE, pixels: 'own' },
  resolutions: RESOLUTIONS,
};
const IMAGE: KindTraits = {
  answers: 'files',
  recovery: 'none',
  inputs: 'links',
  poll: { firstMs: 0, everyMs: 0 },
  range: { ...ANY_RANGE, transparency: false },
};

const PAGE_SIZE = 100;
const MAX_PAGES = 5;
/** The vendor's bounds for the expiry of an abandoned task. */
const EXPIRY_SECONDS = { least: 3_600, most: 259_200 };
const UNFINISHED: readonly unknown[] = ['queued', 'running'];
/** States in which a task has ended without a video. */
const ENDS: readonly unknown[] = ['failed', 'cancelled', 'canceled', 'expired'];
/** With these statuses, a deletion reports that the task cannot be stopped because it runs or has ended. */
const ENDED_STATUSES: readonly number[] = [400, 404, 409];

/** Ark does not sign announcements: the address proves their origin, and Genway reads the state itself. */
const callbacks: CallbackFormat = {
  proof: 'address',
  read({ rawBody }) {
    const { id } = objectOf(parseCallbackBody(rawBody));
    return { jobId: typeof id === 'string' ? id : null };
  },
};

export const ark: MediaAdapter = {
  kinds: { image: IMAGE, video: VIDEO },
  baseUrl: 'https://ark.ap-southeast.bytepluses.com',
  versionPath: 'api/v3',
  authorization: bearer,
  probe: { path: TASKS, query: { page_size: 1 } },
  callbacks,

  submission(request) {
    const [path, body] = request.kind === 'image' ? [IMAGES, imageOf(request)] : [TASKS, videoOf(request)];
    return { path, body: { json: mergeParams(body, request.params) } };
  },

  accepted({ document }, { kind }) {
    const answer = objectOf(document);
    return kind === 'image' ? imagesOf(answer) : { jobId: textOf(answer['id'], 'task id') };
  },

  refusal,

  async find(sent, http, signal) {
    const found: string[] = [];
    for (let page = 1; page <= MAX_PAGES; page += 1) {
      const query = { page_num: page, page_size: PAGE_SIZE, 'filter.model': sent.request.model };
      const items = listOf(objectOf(documentOf(await http.send({ path: TASKS, query }, signal)))['items']);
      const recent = items.map(objectOf).filter((item) => isCreatedSince(item, sent));
      found.push(...recent.map(({ id }) => textOf(id, 'task id')));
      if (recent.length < PAGE_SIZE) return found;
    }
    throw new ProviderUnreachableError('the upstream lists more tasks than Genway reads');
  },

  async status(jobId, http, signal) {
    const answer = await http.send({ path: pathOf(jobId) }, signal);
    if (isMissing(answer)) return { state: 'unknown' };
    return stateOf(objectOf(documentOf(answer)));
  },

  async cancel(jobId, http, signal) {
    // Deleting a task that has ended would delete its record.
    const { status } = objectOf(documentOf(await http.send({ path: pathOf(jobId) }, signal)));
    if (status !== 'queued') return;
    const answer = await http.send({ method: 'DELETE', path: pathOf(jobId) }, signal);
    assertCancelled(answer, ENDED_STATUSES);
  },
};

function pathOf(jobId: string): string {
  return `${TASKS}/${encodeURIComponent(jobId)}`;
}

function videoOf(request: RenderRequest): JsonObject {
  const { model, durationSeconds: duration, aspectRatio: ratio, callbackUrl: callback_url } = request;
  const resolution =
    request.resolution === undefined ? undefined : requireVendorResolution(RESOLUTIONS, request.resolution);
  const optional = { ratio, resolution, duration, callback_url };
  return {
    model,
    content: contentItems(request),
    ...Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== undefined)),
    watermark: false,
    execution_expires_after: expiryOf(request),
    safety_identifier: request.accountId,
  };
}

function expiryOf(request: RenderRequest): number {
  return Math.min(Math.max(lifetimeSecondsOf(request), EXPIRY_SECONDS.least), EXPIRY_SECONDS.most);
}

function imageOf({ model, prompt, images = [], width = 2048, height = 2048 }: RenderRequest): JsonObject {
  const image = images.length > 1 ? images : images[0];
  const size = `${width}x${height}`;
  return { model, prompt, size, response_format: 'url', watermark: false, ...(image !== undefined && { image }) };
}

/** @throws SubmissionError if an image failed; OutcomeUnknownError if the answer has no list of images */
function imagesOf(answer: JsonObject): { readonly files: readonly ResultFile[]; readonly cost?: VendorCost } {
  const { data } = answer;
  if (!Array.isArray(data)) throw new OutcomeUnknownError('the upstream answered without a list of images');
  const items = data.map(objectOf);
  const failed = items.find((item) => isObject(item['error']));
  if (failed) throw errorOf(objectOf(failed['error']));
  const links = items.map(({ url }) => url).filter((url) => typeof url === 'string');
  return { files: links.map((url) => ({ url, mimeType: null })), ...costOf(answer) };
}

/** The error of an image in an answer with a successful status. Both refusals and failures are final. */
function errorOf(error: JsonObject): SubmissionError {
  const means = meaningOf(error) ?? 'failed';
  return means === 'failed'
    ? new JobRefusedError('processing_failed', error['message'])
    : submissionErrorFor(means, factsOf(error));
}

function stateOf(task: JsonObject): JobState {
  const { status, content, error, updated_at: endedAt } = task;
  if (status === 'succeeded') {
    const url = objectOf(content)['video_url'];
    const results = typeof url === 'string' ? [{ url, mimeType: 'video/mp4' }] : [];
    return { state: 'succeeded', results, ...costOf(task), ...endIn(endedAt) };
  }
  if (ENDS.includes(status)) {
    const failure = objectOf(error);
    const verdict = status === 'expired' ? 'processing_timeout' : jobVerdictFor(meaningOf(failure));
    return failed(verdict, failure['message'], { ...costOf(task), ...endIn(endedAt) });
  }
  return unfinished(status, UNFINISHED);
}

/** Ark charges for videos and images by tokens. */
function costOf({ usage }: JsonObject): { readonly cost?: VendorCost } {
  const { completion_tokens: videoTokens, output_tokens: imageTokens } = objectOf(usage);
  return costIn(videoTokens ?? imageTokens, 'tokens');
}

/** Quotas that are not renewed in time; other messages with {@link QUOTA_EXCEEDED} are about the queue. */
const USED_UP = /free trial quota|usage quota/i;
/** Matches codes of moderation that the table lacks. */
const SAFETY_CODES = /SensitiveContentDetected|RiskDetection/;
/** Statuses that blame the request, even if the table lacks the code. */
const REQUEST_STATUSES: readonly number[] = [400, 413];

function meaningOf({ code, message }: JsonObject): CodeMeaning | null {
  if (code === QUOTA_EXCEEDED && USED_UP.test(String(message))) return 'operator';
  return arkCodes.meaningOf(code) ?? (SAFETY_CODES.test(String(code)) ? 'content_policy_violation' : null);
}

function refusal(answer: VendorAnswer): SubmissionError | null {
  const { error } = objectOf(answer.document);
  if (!isObject(error)) return null;
  const means = meaningOf(error) ?? (REQUEST_STATUSES.includes(answer.status) ? 'bad_request' : null);
  return means && submissionErrorFor(means, { ...factsOf(error), retryAfterMs: retryAfterMs(answer) });
}

function factsOf({ code, message }: JsonObject): { readonly operatorMessage: string; readonly vendorMessage: unknown } {
  return { operatorMessage: `the upstream answered with code ${String(code)}`, vendorMessage: message };
}
