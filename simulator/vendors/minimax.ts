/** MiniMax's second video API (docs/vendors/minimax.md): tasks, and an error envelope of its own. */
import type { JsonObject } from '../../domain/json.ts';
import { videoSizeFor } from '../../domain/video-size.ts';
import { updatedAtMs } from '../jobs/job.ts';
import type { Rendering } from '../jobs/submission.ts';
import { route, sendJson, type SimulatorRequest } from '../router.ts';
import { isFramed, listTasks, promptIn, TASK_STATES, textIn } from './content-items.ts';
import {
  bodyOf,
  type Fault,
  invalid,
  type Renders,
  type Render,
  type Vendor,
  type VendorAnswer,
  answerFor,
  type FaultAnswers,
  retryAfterOf,
} from './simulate-vendor.ts';

const SUBMISSIONS = '/v2/video_generation';
const TASKS = '/v2/query/video_generation';
const FIELDS = ['model', 'content', 'resolution', 'duration', 'ratio', 'callback_url', 'extra'];
const SHORT_EDGES: Readonly<Record<string, string>> = { '480P': '480p', '768P': '768p', '2K': '1440p' };
const RATIOS: readonly unknown[] = ['21:9', '16:9', '4:3', '1:1', '3:4', '9:16'];
/** A placeholder for the shape of the first frame, which is not fetched. */
const ADAPTED = '16:9';
const PAGE = { size: 20, maxSize: 50 };

export const minimax: Vendor = {
  name: 'minimax',
  answerFault: minimaxFault,

  routes: (renders) => [
    route('POST', SUBMISSIONS, (request, response) => {
      const body = bodyOf(request, FIELDS);
      const prompt = promptIn(body);
      if (prompt === '') throw invalid('content', 'content needs exactly one text item.');
      const render = renders.accept({ prompt, model: textIn(body, 'model'), rendering: videoOf(body), sent: body });
      renders.acknowledge(render, response, { status: 200, body: { task_id: render.id } });
    }),
    route('GET', TASKS, ({ url }, response) =>
      sendJson(
        response,
        200,
        listTasks(renders.all(), url, PAGE, (render) => present(renders, render, null)),
      ),
    ),
    route('GET', `${TASKS}/{id}`, (request, response) => {
      sendJson(response, 200, { task: present(renders, renders.get(request.parameters['id'] ?? ''), request) });
    }),
    route('DELETE', `${SUBMISSIONS}/{id}`, ({ parameters }, response) => {
      const render = renders.get(parameters['id'] ?? '');
      if (renders.stateOf(render) === 'running') throw invalid('task_id', 'the task is running');
      renders.cancel(render);
      sendJson(response, 200, { action: 'cancelled' });
    }),
  ],
};

function videoOf(body: JsonObject): Rendering {
  const { resolution, duration, ratio } = body;
  const edge = SHORT_EDGES[String(resolution)];
  if (edge === undefined) throw invalid('resolution', 'resolution must be 480P, 768P or 2K');
  if (typeof duration !== 'number' || !Number.isInteger(duration) || duration < 4 || duration > 15) {
    throw invalid('duration', 'duration must be an integer from 4 to 15');
  }
  if (ratio === undefined && !isFramed(body)) throw invalid('ratio', 'ratio is required for text-to-video');
  if (ratio !== undefined && !RATIOS.includes(ratio)) throw invalid('ratio', 'ratio is not supported');
  const shape = typeof ratio === 'string' && !isFramed(body) ? ratio : ADAPTED;
  return { kind: 'video', ...videoSizeFor(edge, shape), durationSeconds: duration };
}

function present(renders: Renders, render: Render, request: SimulatorRequest | null): JsonObject {
  const state = renders.stateOf(render);
  const { rendering, model } = render.order;
  const [url] = request && state === 'succeeded' ? renders.linksOf(render, request) : [];
  const isModerated = renders.failureOf(render) === 'content_policy_violation';
  const seconds = rendering.kind === 'video' ? rendering.durationSeconds : 0;
  return {
    id: render.id,
    model,
    status: TASK_STATES[state],
    task_type: 'generation',
    modality: 'video',
    created_at: Math.floor(render.job.createdAtMs / 1000),
    updated_at: Math.floor(updatedAtMs(render.job, Date.now()) / 1000),
    ...(state === 'failed' && {
      error: isModerated
        ? { code: '1027', message: 'The generated video involves sensitive content.' }
        : { code: '1000', message: 'The prompt asked for it.' },
    }),
    ...(state === 'succeeded' && {
      content: url === undefined ? {} : { url },
      usage: { total_seconds: seconds, input_seconds: 0, output_seconds: seconds },
    }),
  };
}

const FAULTS: FaultAnswers<readonly [status: number, type: string, message: string]> = {
  unauthorized: [401, 'authorized_error', 'login fail: the API key is not valid'],
  limited: [429, 'rate_limit_error', 'rate limit exceeded'],
  broke: [402, 'insufficient_balance_error', 'insufficient balance'],
  missing: [400, 'bad_request_error', 'invalid task_id'],
  error: [500, 'server_error', 'unknown error'],
  invalid: [400, 'bad_request_error', 'invalid params'],
  moderated: [422, 'unprocessable_entity_error', 'The prompt involves sensitive content.'],
  bad_request: [400, 'bad_request_error', 'invalid params, as the prompt asked'],
  unavailable: [503, 'server_error', 'The prompt asked for it.'],
};

function minimaxFault(fault: Fault): VendorAnswer {
  const [status, type, usual] = answerFor(fault, FAULTS);
  const message = fault.kind === 'invalid' ? `${usual}, ${fault.message}` : usual;
  const headers = retryAfterOf(fault);
  const error = { type, message, http_code: String(status) };
  return { status, body: { type: 'error', error, request_id: 'simulated' }, headers };
}
