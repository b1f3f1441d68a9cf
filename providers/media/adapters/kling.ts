/**
 * Kling (docs/vendors/kling.md). Every submission carries our task id as `external_task_id`, which is unique per
 * account: if the outcome of a submission is unknown, Genway finds the task by this id. The vendor has two APIs for videos; a job id starts with the
 * path of the job's API, so that either adapter can read its state.
 */
import { objectOf } from '../../../domain/json.ts';
import type { Accepted, JobState, KindTraits, MediaAdapter } from '../adapter.ts';
import { type CallbackFormat, parseCallbackBody } from '../callbacks.ts';
import { bearer, signedToken } from '../credentials.ts';
import { isName, ProviderUnreachableError } from '../outcomes.ts';
import { assertStandardWebhook } from '../signatures/standard-webhooks.ts';
import type { VendorHttp } from '../vendor-http.ts';
import { refusal } from './kling-answers.ts';
import * as standard from './kling-standard.ts';
import * as v1 from './kling-v1.ts';

const TRAITS = { answers: 'job', recovery: 'id', inputs: 'links' } as const;
const OWN_PIXELS = { seconds: { min: 3, max: 15 }, transparency: false, pixels: 'own' } as const;
/** The shapes of videos without a first frame. */
const SHAPES = ['16:9', '9:16', '1:1'] as const;

const IMAGE: KindTraits = {
  ...TRAITS,
  poll: { firstMs: 2_000, everyMs: 5_000 },
  range: { ...OWN_PIXELS, tiers: Object.keys(v1.IMAGE_RESOLUTIONS), aspectRatios: v1.IMAGE_SHAPES },
};
const VIDEO: KindTraits = {
  ...TRAITS,
  poll: { firstMs: 5_000, everyMs: 15_000 },
  range: { ...OWN_PIXELS, tiers: 'any', aspectRatios: SHAPES },
  resolutions: v1.MODES,
};
/** The widest range of a model, which is that of Kling 4.0. Kling refuses what another model does not render. */
const STANDARD_VIDEO: KindTraits = {
  ...VIDEO,
  range: { ...VIDEO.range, aspectRatios: [...SHAPES, '21:9'], seconds: { min: 3, max: 30 } },
  resolutions: standard.RESOLUTIONS,
};

/** The first API does not sign announcements: the address proves their origin, and Genway reads the state itself. */
const unsigned: CallbackFormat = {
  proof: 'address',
  read({ rawBody }) {
    const document = objectOf(parseCallbackBody(rawBody));
    const taskId = objectOf(document['task_info'])['external_task_id'];
    return { jobId: null, ...(typeof taskId === 'string' && { taskId }) };
  },
};

/** https://kling.ai/document-api/api/get-started/callbacks */
const signed: CallbackFormat = {
  proof: 'secret',
  read(callback, { secret, nowMs }) {
    assertStandardWebhook(callback, secret, nowMs);
    const { id, external_id: taskId } = objectOf(parseCallbackBody(callback.rawBody));
    return { jobId: isName(id) ? standard.jobIdOf({ id }) : null, ...(typeof taskId === 'string' && { taskId }) };
  },
};

const COMMON = {
  baseUrl: 'https://api-singapore.klingai.com',
  versionPath: 'v1',
  refusal,
  status: stateOf,
} as const;

/** Renders images with the first API, which does not sign callbacks: the new API has no images. */
const klingStandard: MediaAdapter = {
  ...COMMON,
  kinds: { image: IMAGE, video: STANDARD_VIDEO },
  authorization: bearer,
  probe: { path: standard.TASKS, query: { external_task_ids: 'genway-probe' } },
  callbacks: signed,

  submission({ callbackUrl, ...request }) {
    if (request.kind === 'image') return v1.submissionOf(request);
    return standard.submissionOf({ ...request, ...(callbackUrl !== undefined && { callbackUrl }) });
  },
  accepted: (answer, request): Accepted => ({
    jobId: request.kind === 'image' ? v1.jobIn(answer, request) : standard.jobIn(answer),
  }),
  find: ({ request }, http, signal) => (request.kind === 'image' ? v1 : standard).findJobs(request, http, signal),
};

export const kling: MediaAdapter = {
  ...COMMON,
  kinds: { image: IMAGE, video: VIDEO },
  authorization: signedToken,
  probe: { path: v1.PATHS.text2video, query: { pageNum: 1, pageSize: 1 } },
  keyPair: true,
  callbacks: unsigned,
  apis: { standard: klingStandard },

  submission: v1.submissionOf,
  accepted: (answer, request) => ({ jobId: v1.jobIn(answer, request) }),
  find: ({ request }, http, signal) => v1.findJobs(request, http, signal),
};

/** @throws ProviderUnreachableError, also for a job id that this adapter did not make */
async function stateOf(jobId: string, http: VendorHttp, signal: AbortSignal): Promise<JobState> {
  const bar = jobId.indexOf('|');
  const [path, id] = [jobId.slice(0, bar), jobId.slice(bar + 1)];
  if (path === standard.TASKS) return standard.stateOfTask(id, http, signal);
  if (v1.isSort(path)) return v1.stateOfTask(path, id, http, signal);
  throw new ProviderUnreachableError(`${jobId} is not a task id`);
}
