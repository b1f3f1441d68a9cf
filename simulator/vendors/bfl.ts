/** Black Forest Labs' FLUX 3 Video (docs/vendors/bfl.md): tasks, each read at the address in the answer to its submission. */
import type { JsonObject } from '../../domain/json.ts';
import { videoSizeFor } from '../../domain/video-size.ts';
import type { Rendering } from '../jobs/submission.ts';
import { route, sendJson } from '../router.ts';
import {
  answerFor,
  bodyOf,
  type Fault,
  type FaultAnswers,
  invalid,
  type Render,
  type Renders,
  type Vendor,
  type VendorAnswer,
  retryAfterOf,
} from './simulate-vendor.ts';

const MODEL = 'flux-3-video';
const FIELDS = [
  'mode',
  'prompt',
  'aspect_ratio',
  'duration',
  'resolution',
  'version',
  'generate_audio',
  'safety_tolerance',
  'draft',
  'draft_cache',
  'keyframes',
  'start_video',
  'webhook_url',
  'webhook_secret',
];
/** The input of each mode. */
const INPUTS: Readonly<Record<string, string | null>> = { t2v: null, i2v: 'keyframes', v2v: 'start_video' };
const RATIOS: readonly unknown[] = ['auto', '21:9', '2:1', '16:9', '4:3', '1:1', '3:4', '9:16'];
/** A placeholder for the shape that the model chooses. */
const ADAPTED = '16:9';
const EDGES: Readonly<Record<string, string>> = { hd: '720p', fhd: '1080p' };
const CREDITS_PER_SECOND: Readonly<Record<string, number>> = { hd: 17, fhd: 29 };
const SECONDS = { min: 5, max: 20 };
const MAX_KEYFRAMES = 10;

const STATES = {
  queued: 'Pending',
  running: 'Pending',
  succeeded: 'Ready',
  failed: 'Error',
  cancelled: 'Error',
  odd: 'Reheating',
} as const;

export const bfl: Vendor = {
  name: 'bfl',
  isAuthorized({ headers }, apiKey) {
    const key = headers['x-key'];
    return typeof key === 'string' && (apiKey === undefined || key === apiKey);
  },
  answerFault: bflFault,

  routes: (renders) => [
    route('GET', '/v1/credits', (_request, response) => sendJson(response, 200, { credits: 1_000 })),
    route('GET', '/v1/get_result', (request, response) => {
      const render = renders.get(request.url.searchParams.get('id') ?? '');
      sendJson(response, 200, present(renders, render, renders.linksOf(render, request)));
    }),
    route('POST', `/v1/${MODEL}`, (request, response) => {
      const body = bodyOf(request, FIELDS);
      const { prompt } = body;
      if (typeof prompt !== 'string' || prompt === '') throw invalid('prompt', 'Field required');
      assertInputs(body);
      const render = renders.accept({ prompt, model: MODEL, rendering: videoOf(body), sent: body });
      const pollingUrl = `http://${request.headers.host}/vendors/bfl/v1/get_result?id=${render.id}`;
      const answer = { id: render.id, polling_url: pollingUrl, cost: creditsOf(render) };
      renders.acknowledge(render, response, { status: 200, body: answer });
    }),
  ],
};

function assertInputs(body: JsonObject): void {
  const input = INPUTS[String(body['mode'])];
  if (input === undefined) throw invalid('mode', 'Input should be t2v, i2v or v2v');
  for (const field of Object.values(INPUTS)) {
    if (field !== null && (body[field] !== undefined) !== (field === input))
      throw invalid(field, 'belongs to another mode');
  }
  const { keyframes, start_video: video } = body;
  const links = input === 'keyframes' ? keyframes : input === null ? [] : [video];
  if (!Array.isArray(links) || links.length > MAX_KEYFRAMES || !links.every((link) => typeof link === 'string')) {
    throw invalid(String(input), 'Input should be one to ten links');
  }
}

function videoOf({ mode, duration, aspect_ratio: ratio = 'auto', resolution = 'hd' }: JsonObject): Rendering {
  const edge = EDGES[String(resolution)];
  if (edge === undefined) throw invalid('resolution', 'Input should be hd or fhd');
  if (!RATIOS.includes(ratio)) throw invalid('aspect_ratio', 'Input should be a known ratio');
  if (typeof duration !== 'number' || !Number.isInteger(duration) || duration < SECONDS.min || duration > SECONDS.max) {
    throw invalid('duration', 'Input should be from 5 to 20');
  }
  const shape = typeof ratio === 'string' && ratio !== 'auto' && mode === 't2v' ? ratio : ADAPTED;
  return { kind: 'video', ...videoSizeFor(edge, shape), durationSeconds: duration };
}

function creditsOf({ order: { rendering, sent } }: Render): number {
  const { resolution = 'hd' } = Object(sent);
  return rendering.kind === 'video' ? rendering.durationSeconds * (CREDITS_PER_SECOND[String(resolution)] ?? 0) : 0;
}

function present(renders: Renders, render: Render, [sample]: readonly string[]): JsonObject {
  const state = renders.stateOf(render);
  const isModerated = state === 'failed' && renders.failureOf(render) === 'content_policy_violation';
  return {
    id: render.id,
    status: isModerated ? 'Content Moderated' : STATES[state],
    progress: state === 'succeeded' ? 1 : 0.1,
    result: state === 'succeeded' ? { sample, duration: 5 } : null,
    ...(isModerated && { details: { 'Moderation Reasons': ['Asked for'] } }),
    ...(state === 'succeeded' && { cost: creditsOf(render) }),
  };
}

const FAULTS: FaultAnswers<readonly [status: number, detail: string]> = {
  unauthorized: [403, 'Not authenticated'],
  broke: [402, 'Insufficient credits'],
  missing: [404, 'Task not found'],
  error: [500, 'Internal server error'],
  invalid: [422, 'Not valid'],
  limited: [429, 'Too many active tasks'],
  moderated: [422, 'Request Moderated'],
  bad_request: [422, 'Refused as asked'],
  unavailable: [503, 'No capacity'],
};

function bflFault(fault: Fault): VendorAnswer {
  const [status, detail] = answerFor(fault, FAULTS);
  const headers = retryAfterOf(fault);
  if (fault.kind === 'missing') return { status, body: { id: null, status: detail, result: null } };
  if (fault.kind !== 'invalid') return { status, body: { detail }, headers };
  const entry = { loc: ['body', fault.field], msg: fault.message, type: 'value_error' };
  return { status, body: { detail: [entry] }, headers };
}
