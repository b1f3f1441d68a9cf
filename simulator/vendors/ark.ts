/** Ark (docs/vendors/ark.md): videos are tasks, images are returned in the answer. */
import type { JsonObject } from '../../domain/json.ts';
import { videoSizeFor } from '../../domain/video-size.ts';
import { updatedAtMs } from '../jobs/job.ts';
import type { Rendering } from '../jobs/submission.ts';
import { route, sendJson, type SimulatorRequest } from '../router.ts';
import { listTasks, promptIn, TASK_STATES, textIn } from './content-items.ts';
import {
  bodyOf,
  type Fault,
  invalid,
  pixelsOf,
  type Renders,
  type Render,
  throwIfFailed,
  type Vendor,
  type VendorAnswer,
  answerFor,
  type FaultAnswers,
  retryAfterOf,
} from './simulate-vendor.ts';

const TASKS = '/api/v3/contents/generations/tasks';
const TASK_FIELDS = [
  'model',
  'content',
  'ratio',
  'resolution',
  'duration',
  'seed',
  'generate_audio',
  'watermark',
  'callback_url',
  'execution_expires_after',
  'safety_identifier',
];
const IMAGE_FIELDS = ['model', 'prompt', 'image', 'size', 'response_format', 'watermark', 'seed'];
const LEAST_PIXELS = 1920 * 1920;
const PAGE = { size: 10, maxSize: 500 };
const TOKENS = 50_638;

export const ark: Vendor = {
  name: 'ark',
  answerFault: arkFault,

  routes: (renders) => [
    route('POST', TASKS, (request, response) => {
      const body = bodyOf(request, TASK_FIELDS);
      const prompt = promptIn(body);
      const render = renders.accept({
        prompt,
        model: textIn(body, 'model'),
        rendering: videoOf(body),
        sent: body,
        ...(body['callback_url'] !== undefined && { callbackUrl: textIn(body, 'callback_url') }),
      });
      renders.acknowledge(render, response, { status: 200, body: { id: nameOf(render) } });
    }),
    route('GET', TASKS, ({ url }, response) => {
      const present = (render: Render): JsonObject => {
        const { content: _content, ...item } = presentTask(renders, render, null);
        return item;
      };
      sendJson(response, 200, listTasks(renders.all().filter(isVideo), url, PAGE, present));
    }),
    route('GET', `${TASKS}/cgt-{id}`, (request, response) => {
      sendJson(response, 200, presentTask(renders, renders.get(request.parameters['id'] ?? ''), request));
    }),
    route('DELETE', `${TASKS}/cgt-{id}`, ({ parameters }, response) => {
      renders.cancel(renders.get(parameters['id'] ?? ''));
      sendJson(response, 200, {});
    }),
    route('POST', '/api/v3/images/generations', async (request, response) => {
      const body = bodyOf(request, IMAGE_FIELDS);
      const prompt = textIn(body, 'prompt');
      const render = renders.accept({ prompt, model: textIn(body, 'model'), rendering: imageOf(body), sent: body });
      await renders.filesOf(render);
      throwIfFailed(renders, render);
      const data = renders.linksOf(render, request).map((url) => ({ url, size: body['size'] }));
      const answer = { model: render.order.model, created: Math.floor(Date.now() / 1000), data };
      renders.acknowledge(render, response, { status: 200, body: { ...answer, usage: { output_tokens: TOKENS } } });
    }),
  ],

  announcement: (render, state) => ({
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ id: nameOf(render), model: render.order.model, status: TASK_STATES[state] }),
  }),
};

function videoOf({ ratio = '16:9', resolution = '720p', duration = 5 }: JsonObject): Rendering {
  if (typeof duration !== 'number' || !Number.isInteger(duration) || duration < 2 || duration > 15) {
    throw invalid('duration', 'The parameter duration is not supported.');
  }
  try {
    return { kind: 'video', ...videoSizeFor(String(resolution), String(ratio)), durationSeconds: duration };
  } catch {
    throw invalid('ratio', 'The parameters resolution and ratio are not supported.');
  }
}

function imageOf({ size }: JsonObject): Rendering {
  const pixels = pixelsOf('size', size);
  if (pixels.width * pixels.height < LEAST_PIXELS)
    throw invalid('size', 'The image must have 3686400 pixels at least.');
  return { kind: 'image', ...pixels, transparent: false };
}

const CODES: Readonly<Record<string, string>> = {
  content_policy_violation: 'OutputVideoSensitiveContentDetected.PolicyViolation',
  bad_request: 'InvalidParameter',
};

function isVideo({ order }: Render): boolean {
  return order.rendering.kind === 'video';
}

function nameOf({ id }: Render): string {
  return `cgt-${id}`;
}

function presentTask(renders: Renders, render: Render, request: SimulatorRequest | null): JsonObject {
  const state = renders.stateOf(render);
  const [url] = request && state === 'succeeded' ? renders.linksOf(render, request) : [];
  const failure = renders.failureOf(render);
  return {
    id: nameOf(render),
    model: render.order.model,
    status: TASK_STATES[state],
    error:
      state === 'failed'
        ? { code: CODES[failure] ?? 'InternalServiceError', message: 'The prompt asked for it.' }
        : null,
    created_at: Math.floor(render.job.createdAtMs / 1000),
    updated_at: Math.floor(updatedAtMs(render.job, Date.now()) / 1000),
    ...(state === 'succeeded' && { content: { video_url: url }, usage: { completion_tokens: TOKENS } }),
  };
}

const FAULTS: FaultAnswers<readonly [status: number, code: string, message: string]> = {
  unauthorized: [401, 'AuthenticationError', 'The API key is not valid.'],
  limited: [429, 'ModelAccountRpmRateLimitExceeded', 'Too many requests.'],
  broke: [403, 'AccountOverdueError', 'The account is overdue.'],
  missing: [404, 'ResourceNotFound', 'There is no such task.'],
  error: [500, 'InternalServiceError', 'The service failed.'],
  invalid: [400, 'InvalidParameter', 'A parameter is not valid.'],
  moderated: [400, 'InputTextSensitiveContentDetected', 'Refused as asked.'],
  bad_request: [400, 'InvalidParameter', 'Refused as asked.'],
  unavailable: [503, 'ServerOverloaded', 'Refused as asked.'],
};

function arkFault(fault: Fault): VendorAnswer {
  const [status, code, usual] = answerFor(fault, FAULTS);
  const message = fault.kind === 'invalid' ? fault.message : usual;
  const headers = retryAfterOf(fault);
  return { status, body: { error: { code, message, type: '' } }, headers };
}
