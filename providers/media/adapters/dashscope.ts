/**
 * Alibaba Cloud Model Studio, whose API is DashScope: Wan 2.7 and HappyHorse (docs/vendors/dashscope.md;
 * https://www.alibabacloud.com/help/en/model-studio/text-to-video-api-reference and
 * https://www.alibabacloud.com/help/en/model-studio/manage-asynchronous-tasks). The list of tasks shows model and time,
 * so Genway finds the task of a submission with an unknown outcome by exclusion. How soon the list has a task is not
 * documented: a list without the task proves nothing, and Genway never submits again.
 */
import { isObject, type JsonObject, listOf, objectOf } from '../../../domain/json.ts';
import type { JobState, KindTraits, MediaAdapter, RenderRequest, SentSubmission } from '../adapter.ts';
import { bearer } from '../credentials.ts';
import { assertCancelled, documentOf, isMissing } from '../exchange.ts';
import { failed, unfinished } from '../job-state.ts';
import { costIn, mergeParams } from '../json.ts';
import { JobRefusedError, ProviderUnreachableError, type SubmissionError, textOf } from '../outcomes.ts';
import { ANY_RANGE } from '../range.ts';
import { requireVendorResolution } from '../resolutions.ts';
import { jobVerdictFor, submissionErrorFor } from '../vendor-codes.ts';
import { retryAfterMs, type VendorAnswer } from '../vendor-http.ts';
import { dashscopeCodes } from './dashscope-codes.ts';

const VERSION = 'api/v1';
const SUBMISSIONS = `${VERSION}/services/aigc/video-generation/video-synthesis`;
const TASKS = `${VERSION}/tasks`;

const RESOLUTIONS = { '480p': '480P', '720p': '720P', '1080p': '1080P' };
const VIDEO: KindTraits = {
  answers: 'job',
  recovery: 'candidates',
  inputs: 'links',
  // An account may read 20 tasks a second.
  poll: { firstMs: 15_000, everyMs: 15_000 },
  resolutions: RESOLUTIONS,
  range: {
    ...ANY_RANGE,
    aspectRatios: ['16:9', '9:16', '1:1', '4:3', '3:4', '4:5', '5:4', '9:21', '21:9'],
    seconds: { min: 2, max: 15 },
    pixels: 'own',
  },
};

const UNFINISHED: readonly unknown[] = ['PENDING', 'RUNNING', 'SUSPENDED'];
/** The task does not exist, or its record was deleted after 24 hours. */
const UNKNOWN = 'UNKNOWN';
const PAGE_SIZE = 100;
const MAX_PAGES = 10;
/** With these statuses, a cancellation reports that the task runs, has ended or does not exist. */
const ENDED_STATUSES: readonly number[] = [400, 404, 409];
const REQUEST_STATUSES: readonly number[] = [400, 413];

export const dashscope: MediaAdapter = {
  kinds: { video: VIDEO },
  baseUrl: 'https://dashscope-intl.aliyuncs.com',
  versionPath: VERSION,
  authorization: bearer,
  probe: { path: `${TASKS}/`, query: { page_no: 1, page_size: 1 } },

  submission(request) {
    return {
      path: SUBMISSIONS,
      headers: { 'x-dashscope-async': 'enable' },
      body: { json: mergeParams(videoOf(request), request.params) },
    };
  },

  accepted: ({ document }) => ({ jobId: textOf(objectOf(objectOf(document)['output'])['task_id'], 'task id') }),
  refusal,

  async find(sent, http, signal) {
    const found: string[] = [];
    for (let page = 1, listed = 0; page <= MAX_PAGES; page += 1) {
      const query = { model_name: sent.request.model, page_no: page, page_size: PAGE_SIZE };
      const { data, total } = objectOf(documentOf(await http.send({ path: `${TASKS}/`, query }, signal)));
      if (!Array.isArray(data)) throw new ProviderUnreachableError('the upstream sent no list of tasks');
      const tasks = listOf(data).map(objectOf);
      found.push(...tasks.filter((task) => isCandidate(task, sent)).map(({ task_id: id }) => textOf(id, 'task id')));
      listed += tasks.length;
      // The vendor documents no order, so only all tasks prove that none is missing.
      if (tasks.length > 0 && listed < Number(total)) continue;
      return found;
    }
    throw new ProviderUnreachableError('the upstream lists more tasks than Genway reads');
  },

  async status(jobId, http, signal) {
    const answer = await http.send({ path: pathOf(jobId) }, signal);
    if (isMissing(answer)) return { state: 'unknown' };
    return stateOf(objectOf(documentOf(answer)));
  },

  async cancel(jobId, http, signal) {
    const answer = await http.send({ method: 'POST', path: `${pathOf(jobId)}/cancel` }, signal);
    assertCancelled(answer, ENDED_STATUSES);
  },
};

function pathOf(jobId: string): string {
  return `${TASKS}/${encodeURIComponent(jobId)}`;
}

function videoOf(request: RenderRequest): JsonObject {
  const { model, prompt, durationSeconds: duration, aspectRatio: ratio, resolution = '720p' } = request;
  const media = mediaOf(request);
  // A video with a first frame has the shape of the frame.
  const isFramed = media.some(({ type }) => type === 'first_frame');
  return {
    model,
    input: { prompt, ...(media.length > 0 && { media }) },
    parameters: {
      resolution: requireVendorResolution(RESOLUTIONS, resolution),
      ...(ratio !== undefined && !isFramed && { ratio }),
      ...(duration !== undefined && { duration }),
      watermark: false,
    },
  };
}

/** @throws JobRefusedError for inputs that the vendor has no field for */
function mediaOf(request: RenderRequest): readonly JsonObject[] {
  const { images = [], imagesAs, referenceVideos = [], referenceAudios = [] } = request;
  if (referenceAudios.length > 0) throw new JobRefusedError('bad_request', 'The model takes no reference audios.');
  if (imagesAs === 'references' || referenceVideos.length > 0) {
    return [
      ...images.map((url) => ({ type: 'reference_image', url })),
      ...referenceVideos.map((url) => ({ type: 'reference_video', url })),
    ];
  }
  const most = imagesAs === 'first_and_last_frame' ? 2 : 1;
  if (images.length > most) throw new JobRefusedError('bad_request', `The model takes at most ${most} images.`);
  return images.map((url, index) => ({ type: index === 0 ? 'first_frame' : 'last_frame', url }));
}

/** Whether a listed task may be the submission. The list covers all keys of the account. */
function isCandidate({ gmt_create: createdMs, model_name: model }: JsonObject, sent: SentSubmission): boolean {
  const isOfModel = model === undefined || model === sent.request.model;
  return isOfModel && typeof createdMs === 'number' && createdMs >= sent.since.getTime();
}

function stateOf({ output, usage }: JsonObject): JobState {
  const task = objectOf(output);
  const { task_status: status, video_url: url, code, message } = task;
  // Model Studio charges for the seconds of the result, and of reference videos.
  const cost = costIn(objectOf(usage)['duration'], 'seconds');
  if (status === UNKNOWN) return { state: 'unknown' };
  if (status === 'SUCCEEDED') {
    return { state: 'succeeded', results: typeof url === 'string' ? [{ url, mimeType: 'video/mp4' }] : [], ...cost };
  }
  if (status === 'FAILED') return failed(jobVerdictFor(dashscopeCodes.meaningOf(code)), message, cost);
  if (status === 'CANCELED') return failed('processing_failed', undefined, cost);
  return unfinished(status, UNFINISHED);
}

function refusal(answer: VendorAnswer): SubmissionError | null {
  if (!isObject(answer.document)) return null;
  const { code, message } = answer.document;
  const usual = REQUEST_STATUSES.includes(answer.status) ? 'bad_request' : null;
  const means = dashscopeCodes.meaningOf(code) ?? usual;
  return (
    means &&
    submissionErrorFor(means, {
      operatorMessage: `the upstream answered ${answer.status} with code ${String(code)}`,
      vendorMessage: message,
      retryAfterMs: retryAfterMs(answer),
    })
  );
}
