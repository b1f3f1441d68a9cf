/** Kling's API (docs/vendors/kling.md). Refuses with a `code` under any status, and finds tasks by the client's id. */
import { createHmac } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { type ImageTier, imageSizeFor } from '../../domain/image-size.ts';
import { isObject, type JsonObject } from '../../domain/json.ts';
import { videoSizeFor } from '../../domain/video-size.ts';
import { updatedAtMs } from '../jobs/job.ts';
import type { Rendering } from '../jobs/submission.ts';
import { type Route, route, sendJson, type SimulatorRequest } from '../router.ts';
import { envelope, isStandard, standardAnnouncement, standardRoutes } from './kling-standard.ts';
import {
  bodyOf,
  hasCredential,
  invalid,
  type Renders,
  type Render,
  type Vendor,
  answerFor,
  type FaultAnswers,
} from './simulate-vendor.ts';

const COMMON = ['model_name', 'prompt', 'negative_prompt', 'external_task_id', 'callback_url'];
const VIDEO = [...COMMON, 'duration', 'mode', 'sound', 'cfg_scale'];
const MAX_PROMPT_CHARACTERS = 2_500;
const TIERS: Readonly<Record<string, ImageTier>> = { '1k': '1K', '2k': '2K' };
const RESOLUTIONS: Readonly<Record<string, string>> = { std: '720p', pro: '1080p', '4k': '4k' };

interface Endpoint {
  readonly path: string;
  readonly kind: 'video' | 'image';
  readonly fields: readonly string[];
  readonly required: readonly string[];
}

const ENDPOINTS: readonly Endpoint[] = [
  { path: '/v1/videos/text2video', kind: 'video', fields: [...VIDEO, 'aspect_ratio'], required: ['prompt'] },
  { path: '/v1/videos/image2video', kind: 'video', fields: [...VIDEO, 'image', 'image_tail'], required: ['image'] },
  {
    path: '/v1/videos/multi-image2video',
    kind: 'video',
    fields: [...VIDEO, 'image_list', 'aspect_ratio'],
    required: ['prompt', 'image_list'],
  },
  {
    path: '/v1/images/generations',
    kind: 'image',
    fields: [...COMMON, 'image', 'n', 'aspect_ratio', 'resolution'],
    required: ['prompt'],
  },
];

export const kling: Vendor = {
  name: 'kling',
  isAuthorized: (request, apiKey) => hasCredential(request, apiKey) || hasToken(request, apiKey),
  answerFault: (fault) => {
    const [status, code, usual] = answerFor(fault, FAULTS);
    const message = fault.kind === 'invalid' ? fault.message : usual;
    return { status, body: { code, message, request_id: 'simulated' } };
  },
  routes: (renders) => [...ENDPOINTS.flatMap((endpoint) => routesOf(endpoint, renders)), ...standardRoutes(renders)],

  announcement: (render, state, secret) => {
    if (isStandard(render)) return standardAnnouncement(render, state, secret);
    const { id, order } = render;
    const body = {
      task_id: id,
      task_status: STATES[state],
      task_info: { external_task_id: order.clientId ?? null },
    };
    return { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  },
};

function routesOf(endpoint: Endpoint, renders: Renders): readonly Route[] {
  const isHere = ({ order }: Render): boolean => isObject(order.sent) && order.sent['path'] === endpoint.path;
  return [
    route('POST', endpoint.path, (request, response) => {
      const body = orderOf(request, endpoint);
      const clientId = textIn(body, 'external_task_id');
      if (clientId !== undefined && renders.all().some((render) => render.order.clientId === clientId)) {
        throw invalid('external_task_id', `external_task_id ${clientId} already exists.`);
      }
      const render = renders.accept({
        prompt: textIn(body, 'prompt') ?? '',
        model: textIn(body, 'model_name') ?? 'kling-v1',
        rendering: renderingOf(body, endpoint),
        sent: { path: endpoint.path, ...body },
        ...(clientId !== undefined && { clientId }),
        ...(body['callback_url'] !== undefined && { callbackUrl: textIn(body, 'callback_url') ?? '' }),
      });
      renders.acknowledge(render, response, { status: 200, body: envelope(present(renders, render, request)) });
    }),
    route('GET', `${endpoint.path}/{id}`, (request, response) => {
      const { id = '' } = request.parameters;
      const known = renders
        .all()
        .filter(isHere)
        .find((render) => render.id === id || render.order.clientId === id);
      send(response, present(renders, renders.get(known?.id ?? ''), request));
    }),
  ];
}

function orderOf(request: SimulatorRequest, { fields, required }: Endpoint): JsonObject {
  const document = bodyOf(request, fields);
  const missing = required.find((field) => document[field] === undefined);
  if (missing !== undefined) throw invalid(missing, `${missing} is required.`);
  if ((textIn(document, 'prompt') ?? '').length > MAX_PROMPT_CHARACTERS) throw invalid('prompt', 'prompt is too long.');
  return document;
}

function renderingOf(body: JsonObject, { kind }: Endpoint): Rendering {
  const ratio = textIn(body, 'aspect_ratio') ?? '16:9';
  try {
    if (kind === 'image') {
      const tier = TIERS[textIn(body, 'resolution') ?? '1k'];
      if (tier === undefined) throw invalid('resolution', 'resolution must be 1k or 2k.');
      return { kind, ...imageSizeFor(tier, ratio), transparent: false };
    }
    const duration = textIn(body, 'duration') ?? '5';
    if (!/^([3-9]|1[0-5])$/.test(duration)) throw invalid('duration', `duration ${duration} is not supported.`);
    const resolution = RESOLUTIONS[textIn(body, 'mode') ?? 'std'];
    if (resolution === undefined) throw invalid('mode', 'mode must be std, pro or 4k.');
    return { kind, ...videoSizeFor(resolution, ratio), durationSeconds: Number(duration) };
  } catch (error) {
    if (error instanceof RangeError) throw invalid('aspect_ratio', `aspect_ratio ${ratio} is not supported.`);
    throw error;
  }
}

/** @throws VendorFault for a field that is not a string */
function textIn(body: JsonObject, field: string): string | undefined {
  const value = body[field];
  if (value === undefined || typeof value === 'string') return value;
  throw invalid(field, `${field} must be a string.`);
}

const STATES = {
  queued: 'submitted',
  running: 'processing',
  succeeded: 'succeed',
  failed: 'failed',
  cancelled: 'failed',
  odd: 'reheating',
} as const;

function present(renders: Renders, render: Render, request: SimulatorRequest): JsonObject {
  const state = renders.stateOf(render);
  const isModerated = renders.failureOf(render) === 'content_policy_violation';
  const { rendering, clientId } = render.order;
  const links = state === 'succeeded' ? renders.linksOf(render, request) : [];
  const files =
    rendering.kind === 'image'
      ? { images: links.map((url, index) => ({ index, url })) }
      : {
          videos: links.map((url, index) => ({ id: String(index), url, duration: String(rendering.durationSeconds) })),
        };
  return {
    task_id: render.id,
    task_status: STATES[state],
    task_status_msg:
      state === 'failed' ? (isModerated ? 'Failure to pass the risk control system' : 'The render failed') : '',
    task_info: { external_task_id: clientId ?? null },
    created_at: render.job.createdAtMs,
    updated_at: updatedAtMs(render.job, Date.now()),
    ...(state === 'succeeded' && { task_result: files, final_unit_deduction: '3.5' }),
  };
}

function send(response: ServerResponse, data: JsonObject): void {
  sendJson(response, 200, envelope(data));
}

const FAULTS: FaultAnswers<readonly [status: number, code: number, message: string]> = {
  unauthorized: [401, 1002, 'Authorization is not valid'],
  limited: [429, 1302, 'Your request is too fast'],
  broke: [429, 1102, 'Account balance not enough'],
  missing: [404, 1203, 'Task not found'],
  error: [500, 5000, 'Internal server error'],
  invalid: [400, 1201, 'A field is not valid'],
  moderated: [400, 1301, 'The prompt contains sensitive words'],
  bad_request: [400, 1201, 'The prompt asked for this refusal'],
  unavailable: [503, 5001, 'Server busy'],
};

/** Whether there is a token signed with the secret key. The simulated account's API key is also its secret key. */
function hasToken({ headers }: SimulatorRequest, secretKey: string | undefined): boolean {
  const [head = '', claims = '', signature] = (headers.authorization ?? '').replace(/^Bearer /, '').split('.');
  if (signature === undefined) return false;
  if (secretKey === undefined) return true;
  const expected = createHmac('sha256', secretKey).update(`${head}.${claims}`).digest('base64url');
  if (expected !== signature) return false;
  const { exp, nbf, iss }: Record<string, unknown> = JSON.parse(Buffer.from(claims, 'base64url').toString('utf8'));
  const now = Date.now() / 1000;
  return typeof iss === 'string' && typeof exp === 'number' && typeof nbf === 'number' && nbf <= now && now < exp;
}
