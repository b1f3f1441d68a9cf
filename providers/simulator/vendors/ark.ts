/** Ark (docs/vendors/ark.md): videos are tasks, images come in the answer. */
import { isObject, type JsonObject } from '../../../domain/json.ts';
import { videoSizeFor } from '../../../domain/video-size.ts';
import type { Rendering } from '../jobs/submission.ts';
import { parseJson, sendJson, type SimulatorRequest } from '../router.ts';
import { promptIn, textIn } from './content-items.ts';
import {
  type Fault,
  hasCredential,
  invalid,
  onlyFields,
  pixelsOf,
  type Play,
  type Render,
  throwIfFailed,
  type Vendor,
  type VendorAnswer,
} from './play.ts';

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
const MAX_PAGE = 500;
const TOKENS = 50_638;

export const ark: Vendor = {
  name: 'ark',
  isAuthorized: (request, apiKey) => hasCredential(request, apiKey),
  words: arkWords,

  routes: (play) => [
    {
      method: 'POST',
      path: TASKS,
      handle(request, response) {
        const body = bodyOf(request, TASK_FIELDS);
        const prompt = promptIn(body);
        const render = play.take({
          prompt,
          model: textIn(body, 'model'),
          rendering: videoOf(body),
          sent: body,
          ...(body['callback_url'] !== undefined && { callbackUrl: textIn(body, 'callback_url') }),
        });
        play.acknowledge(render, response, { status: 200, body: { id: nameOf(render) } });
      },
    },
    {
      method: 'GET',
      path: TASKS,
      handle({ url: { searchParams } }, response) {
        const model = searchParams.get('filter.model');
        const size = Math.min(Number(searchParams.get('page_size') ?? 10), MAX_PAGE);
        const start = (Number(searchParams.get('page_num') ?? 1) - 1) * size;
        const tasks = play
          .all()
          .filter(isVideo)
          .filter(({ order }) => model === null || order.model === model);
        const items = tasks.slice(start, start + size).map((render) => {
          const { content: _content, ...item } = present(play, render, null);
          return item;
        });
        sendJson(response, 200, { items, total: tasks.length });
      },
    },
    {
      method: 'GET',
      path: `${TASKS}/cgt-{id}`,
      handle(request, response) {
        sendJson(response, 200, present(play, play.ask(request.parameters['id'] ?? ''), request));
      },
    },
    {
      method: 'DELETE',
      path: `${TASKS}/cgt-{id}`,
      handle({ parameters }, response) {
        play.cancel(play.ask(parameters['id'] ?? ''));
        sendJson(response, 200, {});
      },
    },
    {
      method: 'POST',
      path: '/api/v3/images/generations',
      async handle(request, response) {
        const body = bodyOf(request, IMAGE_FIELDS);
        const prompt = textIn(body, 'prompt');
        const render = play.take({ prompt, model: textIn(body, 'model'), rendering: imageOf(body), sent: body });
        await play.filesOf(render);
        throwIfFailed(play, render);
        const data = play.linksOf(render, request).map((url) => ({ url, size: body['size'] }));
        const answer = { model: render.order.model, created: Math.floor(Date.now() / 1000), data };
        play.acknowledge(render, response, { status: 200, body: { ...answer, usage: { output_tokens: TOKENS } } });
      },
    },
  ],

  announcement: (render, state) => ({
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ id: nameOf(render), model: render.order.model, status: STATES[state] }),
  }),
};

function bodyOf(request: SimulatorRequest, fields: readonly string[]): JsonObject {
  const body = parseJson(request);
  if (!isObject(body)) throw invalid('body', 'The request body must be an object.');
  onlyFields(body, fields);
  return body;
}

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

const STATES = {
  queued: 'queued',
  running: 'running',
  succeeded: 'succeeded',
  failed: 'failed',
  cancelled: 'cancelled',
  odd: 'reheating',
} as const;

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

function present(play: Play, render: Render, request: SimulatorRequest | null): JsonObject {
  const state = play.stateOf(render);
  const [url] = request && state === 'succeeded' ? play.linksOf(render, request) : [];
  const failure = play.failureOf(render);
  return {
    id: nameOf(render),
    model: render.order.model,
    status: STATES[state],
    error:
      state === 'failed'
        ? { code: CODES[failure] ?? 'InternalServiceError', message: 'The prompt asked for it.' }
        : null,
    created_at: Math.floor(render.job.createdAtMs / 1000),
    updated_at: Math.floor(Date.now() / 1000),
    ...(state === 'succeeded' && { content: { video_url: url }, usage: { completion_tokens: TOKENS } }),
  };
}

const FAULTS: Readonly<Record<Exclude<Fault['kind'], 'invalid' | 'refused'>, readonly [number, string, string]>> = {
  unauthorized: [401, 'AuthenticationError', 'The API key is not valid.'],
  limited: [429, 'ModelAccountRpmRateLimitExceeded', 'Too many requests.'],
  broke: [403, 'AccountOverdueError', 'The account is overdue.'],
  missing: [404, 'ResourceNotFound', 'There is no such task.'],
  error: [500, 'InternalServiceError', 'The service failed.'],
};

function arkWords(fault: Fault): VendorAnswer {
  const [status, code, message] = wordsOf(fault);
  const headers = fault.kind === 'limited' ? { 'retry-after': String(fault.retryAfterSeconds) } : {};
  return { status, body: { error: { code, message, type: '' } }, headers };
}

function wordsOf(fault: Fault): readonly [number, string, string] {
  if (fault.kind === 'invalid') return [400, 'InvalidParameter', fault.message];
  if (fault.kind !== 'refused') return FAULTS[fault.kind];
  if (fault.code === 'content_policy_violation') return [400, 'InputTextSensitiveContentDetected', 'Refused as asked.'];
  return fault.code === 'bad_request'
    ? [400, 'InvalidParameter', 'Refused as asked.']
    : [503, 'ServerOverloaded', 'Refused as asked.'];
}
