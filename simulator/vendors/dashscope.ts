/**
 * Alibaba Model Studio's DashScope (docs/vendors/dashscope.md): asynchronous tasks, whose list covers all keys of the
 * account. A key of another region is a wrong key; a task that expired has the status `UNKNOWN`.
 */
import { isObject, type JsonObject } from '../../domain/json.ts';
import { videoSizeFor } from '../../domain/video-size.ts';
import type { Rendering } from '../jobs/submission.ts';
import { route, sendJson } from '../router.ts';
import {
  answerFor,
  bodyOf,
  type Fault,
  type FaultAnswers,
  invalid,
  isListed,
  onlyFields,
  type Render,
  type Renders,
  type Vendor,
  type VendorAnswer,
  retryAfterOf,
} from './simulate-vendor.ts';

const SUBMISSIONS = '/api/v1/services/aigc/video-generation/video-synthesis';
const TASKS = '/api/v1/tasks';
const INPUT_FIELDS = ['prompt', 'negative_prompt', 'media', 'audio_url'];
const PARAMETER_FIELDS = ['resolution', 'ratio', 'duration', 'watermark', 'seed', 'prompt_extend'];

interface Model {
  /** The sorts of media that the model needs or takes; none for a model that renders from text. */
  readonly media: readonly string[];
  readonly seconds: { readonly min: number; readonly max: number };
}

const FRAMES = ['first_frame', 'last_frame'];
const REFERENCES = ['reference_image', 'reference_video', 'first_frame'];
const MODELS: Readonly<Record<string, Model>> = {
  'wan2.7-t2v': { media: [], seconds: { min: 2, max: 15 } },
  'wan2.7-i2v': { media: FRAMES, seconds: { min: 2, max: 15 } },
  'wan2.7-r2v': { media: REFERENCES, seconds: { min: 2, max: 15 } },
  'happyhorse-1.1-t2v': { media: [], seconds: { min: 3, max: 15 } },
  'happyhorse-1.1-i2v': { media: ['first_frame'], seconds: { min: 3, max: 15 } },
  'happyhorse-1.1-r2v': { media: ['reference_image'], seconds: { min: 3, max: 15 } },
};
const EDGES: Readonly<Record<string, string>> = { '720P': '720p', '1080P': '1080p' };
const RATIOS: readonly unknown[] = ['16:9', '9:16', '1:1', '4:3', '3:4'];
/** A placeholder for the shape of the first frame, which is not fetched. */
const ADAPTED = '16:9';
const MAX_PAGE = 100;

const STATES = {
  queued: 'PENDING',
  running: 'RUNNING',
  succeeded: 'SUCCEEDED',
  failed: 'FAILED',
  cancelled: 'CANCELED',
  odd: 'REHEATING',
} as const;

export const dashscope: Vendor = {
  name: 'dashscope',
  answerFault: dashscopeFault,

  routes: (renders) => [
    route('POST', SUBMISSIONS, (request, response) => {
      if (request.headers['x-dashscope-async'] !== 'enable') {
        throw invalid('X-DashScope-Async', 'current user api does not support synchronous calls');
      }
      const { model, input, parameters = {} } = bodyOf(request, ['model', 'input', 'parameters']);
      if (!isObject(input) || !isObject(parameters)) throw invalid('input', 'must be an object');
      onlyFields(input, INPUT_FIELDS);
      onlyFields(parameters, PARAMETER_FIELDS);
      const { prompt } = input;
      if (typeof prompt !== 'string' || prompt === '') throw invalid('prompt', 'is required');
      const known = Object.hasOwn(MODELS, String(model)) ? MODELS[String(model)] : undefined;
      if (!known) throw invalid('model', 'does not exist in this region');
      const types = typesIn(input['media'], known);
      const rendering = videoOf(parameters, known, types.includes('first_frame'));
      const sent = { model, types: types.join(' '), ...parameters };
      const render = renders.accept({ prompt, model: String(model), rendering, sent });
      const output = { task_id: render.id, task_status: 'PENDING' };
      renders.acknowledge(render, response, { status: 200, body: { output, request_id: 'simulated' } });
    }),
    route('GET', `${TASKS}/`, ({ url: { searchParams } }, response) => {
      const model = searchParams.get('model_name');
      const size = Math.min(Number(searchParams.get('page_size') ?? 10), MAX_PAGE);
      const page = Number(searchParams.get('page_no') ?? 1);
      const tasks = renders.all().filter((one) => isListed(one) && (model === null || one.order.model === model));
      const data = tasks.slice((page - 1) * size, page * size).map((render) => listed(renders, render));
      sendJson(response, 200, { request_id: 'simulated', data, total: tasks.length, page_no: page, page_size: size });
    }),
    route('GET', `${TASKS}/{id}`, (request, response) => {
      const render = renders.get(request.parameters['id'] ?? '');
      sendJson(response, 200, present(renders, render, renders.linksOf(render, request)));
    }),
    route('POST', `${TASKS}/{id}/cancel`, ({ parameters }, response) => {
      const render = renders.get(parameters['id'] ?? '');
      if (renders.stateOf(render) !== 'queued') throw invalid('task_id', 'only PENDING tasks can be cancelled');
      renders.cancel(render);
      sendJson(response, 200, { request_id: 'simulated' });
    }),
  ],
};

/** The sorts of the media. @throws VendorFault */
function typesIn(media: unknown, { media: permitted }: Model): readonly string[] {
  if (media === undefined && permitted.length === 0) return [];
  if (!Array.isArray(media) || media.length === 0) throw invalid('media', 'is required');
  return media.map((item: unknown) => {
    if (!isObject(item) || typeof item['url'] !== 'string') throw invalid('media', 'needs a type and a url');
    onlyFields(item, ['type', 'url', 'reference_voice']);
    const type = String(item['type']);
    if (!permitted.includes(type)) throw invalid('media', `the model takes no ${type}`);
    return type;
  });
}

function videoOf(
  { resolution = '1080P', ratio, duration = 5 }: JsonObject,
  model: Model,
  isFramed: boolean,
): Rendering {
  const edge = EDGES[String(resolution)];
  if (edge === undefined) throw invalid('resolution', 'must be 720P or 1080P');
  if (ratio !== undefined && (isFramed || !RATIOS.includes(ratio))) throw invalid('ratio', 'is not supported');
  const { min, max } = model.seconds;
  if (typeof duration !== 'number' || !Number.isInteger(duration) || duration < min || duration > max) {
    throw invalid('duration', `must be from ${min} to ${max}`);
  }
  return {
    kind: 'video',
    ...videoSizeFor(edge, typeof ratio === 'string' ? ratio : ADAPTED),
    durationSeconds: duration,
  };
}

function listed(renders: Renders, render: Render): JsonObject {
  return {
    task_id: render.id,
    model_name: render.order.model,
    status: STATES[renders.stateOf(render)],
    gmt_create: render.job.createdAtMs,
    region: 'ap-southeast-1',
  };
}

function present(renders: Renders, render: Render, [url]: readonly string[]): JsonObject {
  const state = renders.stateOf(render);
  const isModerated = renders.failureOf(render) === 'content_policy_violation';
  const { rendering } = render.order;
  const seconds = rendering.kind === 'video' ? rendering.durationSeconds : 0;
  return {
    request_id: 'simulated',
    output: {
      task_id: render.id,
      task_status: STATES[state],
      ...(state === 'succeeded' && { video_url: url }),
      ...(state === 'failed' && {
        code: isModerated ? 'DataInspectionFailed' : 'InternalError',
        message: isModerated ? 'Output data may contain inappropriate content.' : 'It failed, as asked for.',
      }),
    },
    ...(state === 'succeeded' && { usage: { duration: seconds, output_video_duration: seconds, video_count: 1 } }),
  };
}

const FAULTS: FaultAnswers<readonly [status: number, code: string, message: string]> = {
  unauthorized: [401, 'InvalidApiKey', 'Invalid API-key provided.'],
  broke: [400, 'Arrearage', 'Access denied, please make sure your account is in good standing.'],
  missing: [200, '', ''],
  error: [500, 'InternalError', 'An internal error has occurred.'],
  invalid: [400, 'InvalidParameter', 'A parameter is not valid.'],
  limited: [429, 'Throttling.RateQuota', 'Requests rate limit exceeded, please try again later.'],
  moderated: [400, 'DataInspectionFailed', 'Input data may contain inappropriate content.'],
  bad_request: [400, 'InvalidParameter', 'Refused as asked.'],
  unavailable: [503, 'ModelServingError', 'Too many requests. Your requests are being throttled.'],
};

function dashscopeFault(fault: Fault): VendorAnswer {
  if (fault.kind === 'missing') {
    return { status: 200, body: { request_id: 'simulated', output: { task_id: '', task_status: 'UNKNOWN' } } };
  }
  const [status, code, usual] = answerFor(fault, FAULTS);
  const message = fault.kind === 'invalid' ? `${fault.field} ${fault.message}` : usual;
  const headers = retryAfterOf(fault);
  return { status, body: { request_id: 'simulated', code, message }, headers };
}
