/**
 * Kling's own API (docs/vendors/kling.md). Every body carries our task id as `external_task_id`, which is unique per account and by
 * which tasks can be looked up, so a lost answer costs nothing. Success is `code` 0, whatever the status says.
 */
import type { TaskErrorCode } from '../../../domain/errors.ts';
import type { JsonObject } from '../../../domain/json.ts';
import type { VendorCost } from '../../../domain/media-route.ts';
import type { JobState, KindTraits, MediaAdapter, RenderRequest } from '../adapter.ts';
import { type CallbackFormat, parseCallbackBody } from '../callbacks.ts';
import { signedToken } from '../credentials.ts';
import { nearestRatio } from '../fields.ts';
import { endIn, listOf, objectOf, PLAIN_AMOUNT, withParams } from '../json.ts';
import {
  JobRefusedError,
  NotTakenError,
  OutcomeUnknownError,
  ProviderUnreachableError,
  type SubmissionError,
  textOf,
} from '../outcomes.ts';
import { requiredWordFor } from '../resolutions.ts';
import type { ResultFile } from '../result-file.ts';
import { retryAfterMs, type VendorAnswer, type VendorHttp } from '../vendor-http.ts';
import { messageFor, wordsOf } from '../words.ts';

const TRAITS = { answers: 'job', recovery: 'id', inputs: 'links' } as const;
const IMAGE: KindTraits = { ...TRAITS, poll: { firstMs: 2_000, everyMs: 5_000 } };
/** The vendor's modes are its resolutions. */
const MODES = { '720p': 'std', '1080p': 'pro', '4k': '4k' };
const VIDEO: KindTraits = { ...TRAITS, poll: { firstMs: 5_000, everyMs: 15_000 }, resolutions: MODES };

/** The address for each sort of task, for submissions and questions alike. */
const PATHS = {
  text2video: 'v1/videos/text2video',
  image2video: 'v1/videos/image2video',
  'multi-image2video': 'v1/videos/multi-image2video',
  images: 'v1/images/generations',
} as const;
type Sort = keyof typeof PATHS;

/** The shapes of images. */
const RATIOS = ['16:9', '9:16', '1:1', '4:3', '3:4', '3:2', '2:3', '21:9'] as const;

const NO_SUCH_TASK = 1203;
const TOO_MANY: readonly number[] = [1302, 1303];
const TOO_MANY_WAIT_MS = 1_000;

/** Announcements are not signed: the address proves their origin, and they are only a hint to ask. */
const callbacks: CallbackFormat = {
  proof: 'address',
  read({ rawBody }) {
    const document = objectOf(parseCallbackBody(rawBody));
    const taskId = objectOf(document['task_info'])['external_task_id'];
    return { jobId: null, ...(typeof taskId === 'string' && { taskId }) };
  },
};

export const kling: MediaAdapter = {
  kinds: { image: IMAGE, video: VIDEO },
  baseUrl: 'https://api-singapore.klingai.com',
  versionPath: 'v1',
  authorization: signedToken,
  probe: { path: 'v1/videos/text2video', query: { pageNum: 1, pageSize: 1 } },
  keyPair: true,
  callbacks,

  submission(request) {
    const { callbackUrl: callback_url, taskId: external_task_id } = request;
    const body = { ...fieldsOf(request), external_task_id, ...(callback_url !== undefined && { callback_url }) };
    return { path: PATHS[sortOf(request)], body: { json: withParams(body, request.params) } };
  },

  accepted(answer, request) {
    const { code, data } = objectOf(answer.document);
    if (code !== 0) throw refusal(answer) ?? new OutcomeUnknownError('the upstream answered with no code');
    return { jobId: jobIdOf(sortOf(request), objectOf(data)['task_id']) };
  },

  refusal,

  async find({ request }, http, signal) {
    const task = await readTask(sortOf(request), request.taskId, http, signal);
    return task === null ? [] : [jobIdOf(sortOf(request), task['task_id'])];
  },

  async status(jobId, http, signal) {
    const [sort, id] = partsOf(jobId);
    const task = await readTask(sort, id, http, signal);
    return task === null ? { state: 'unknown' } : stateOf(task);
  },
};

/** @throws JobRefusedError for inputs that the vendor has no field for */
function sortOf({ kind, images = [], imagesAs, referenceVideos = [], referenceAudios = [] }: RenderRequest): Sort {
  if (referenceVideos.length > 0 || referenceAudios.length > 0) throw tooMuch('neither reference videos nor audios');
  if (kind === 'image') {
    if (images.length > 1) throw tooMuch('at most one image');
    return 'images';
  }
  if (images.length === 0) return 'text2video';
  if (imagesAs === 'references') return 'multi-image2video';
  const most = imagesAs === 'first_frame' ? 1 : 2;
  if (images.length > most) throw tooMuch(most === 1 ? 'at most one image' : 'at most two images');
  return 'image2video';
}

function tooMuch(what: string): JobRefusedError {
  return new JobRefusedError('bad_request', `The model takes ${what}.`);
}

function fieldsOf(request: RenderRequest): JsonObject {
  const { model: model_name, prompt, width = 1024, height = 1024 } = request;
  if (request.kind === 'image') {
    const [image] = request.images ?? [];
    return {
      model_name,
      prompt,
      n: 1,
      aspect_ratio: nearestRatio({ width, height }, RATIOS),
      ...(image !== undefined && { image }),
    };
  }
  const { durationSeconds = 5, resolution } = request;
  const mode = resolution === undefined ? undefined : requiredWordFor(MODES, resolution);
  return { model_name, prompt, duration: String(durationSeconds), ...(mode && { mode }), ...framesOf(request) };
}

/** A video with a first frame has the shape of the frame. */
function framesOf(request: RenderRequest): JsonObject {
  const { images = [], aspectRatio: aspect_ratio } = request;
  const [image, image_tail] = images;
  switch (sortOf(request)) {
    case 'image2video':
      return { image, ...(image_tail !== undefined && { image_tail }) };
    case 'multi-image2video':
      return { image_list: images.map((link) => ({ image: link })), ...(aspect_ratio && { aspect_ratio }) };
    default:
      return aspect_ratio === undefined ? {} : { aspect_ratio };
  }
}

function jobIdOf(sort: Sort, id: unknown): string {
  return `${sort}|${textOf(id, 'task id')}`;
}

/** @throws ProviderUnreachableError for a name that was not made here */
function partsOf(jobId: string): readonly [sort: Sort, id: string] {
  const bar = jobId.indexOf('|');
  const sort = jobId.slice(0, bar);
  if (!isSort(sort)) throw new ProviderUnreachableError(`${jobId} is not the name of a task`);
  return [sort, jobId.slice(bar + 1)];
}

function isSort(name: string): name is Sort {
  return Object.hasOwn(PATHS, name);
}

/** @param id the vendor's or ours @returns null where the vendor says that there is no such task */
async function readTask(sort: Sort, id: string, http: VendorHttp, signal: AbortSignal): Promise<JsonObject | null> {
  const { status, document } = await http.ask({ path: `${PATHS[sort]}/${encodeURIComponent(id)}` }, signal);
  const { code, data } = objectOf(document);
  if (code === 0) return objectOf(data);
  if (code === NO_SUCH_TASK) return null;
  throw new ProviderUnreachableError(`the upstream answered ${status} with code ${JSON.stringify(code)}`);
}

function stateOf(task: JsonObject): JobState {
  const { task_status: status, task_status_msg: message, updated_at: endedAt } = task;
  const cost = costOf(task);
  if (status === 'succeed')
    return { state: 'succeeded', results: filesOf(task), ...(cost && { cost }), ...endIn(endedAt) };
  if (status === 'failed') {
    const code = verdictOf(message);
    return { state: 'failed', code, message: messageFor(code, message), ...(cost && { cost }), ...endIn(endedAt) };
  }
  return { state: 'running', progressPercent: null, detail: wordsOf(status) };
}

function filesOf({ task_result: result }: JsonObject): readonly ResultFile[] {
  const { videos, images } = objectOf(result);
  const links = [...listOf(videos), ...listOf(images)].map((file) => objectOf(file)['url']);
  return links.filter((url) => typeof url === 'string').map((url) => ({ url, mimeType: null }));
}

function costOf({ final_unit_deduction: units }: JsonObject): VendorCost | undefined {
  const amount = typeof units === 'number' ? String(units) : units;
  return typeof amount === 'string' && PLAIN_AMOUNT.test(amount) ? { amount, unit: 'units' } : undefined;
}

/** Only the message of a failed task gives the reason. */
function verdictOf(message: unknown): TaskErrorCode {
  return /risk|sensitive|moderat|safety|polic/i.test(String(message))
    ? 'content_policy_violation'
    : 'processing_failed';
}

/** Codes: 1000-1004 credential, 1100-1103 money, 1200-1203 parameters, 1301 content, 1302 and 1303 load, 5xxx the vendor's own. */
function refusal(answer: VendorAnswer): SubmissionError | null {
  const { code, message } = objectOf(answer.document);
  if (typeof code !== 'number' || code === 0) return null;
  const said = `the upstream answered code ${code}`;
  if (code >= 1000 && code < 1200) return new NotTakenError(said, { leavesRoute: true });
  if (TOO_MANY.includes(code)) {
    return new NotTakenError(said, { retryAfterMs: retryAfterMs(answer) ?? TOO_MANY_WAIT_MS });
  }
  // Our id exists already: an earlier submission arrived, and can be looked up.
  if (/external_task_id/.test(String(message))) return new OutcomeUnknownError(`${said} about our id`);
  if (code === 1301) return new JobRefusedError('content_policy_violation', message);
  if (code >= 1200 && code < 1300) return new JobRefusedError('bad_request', message);
  return new OutcomeUnknownError(said);
}
