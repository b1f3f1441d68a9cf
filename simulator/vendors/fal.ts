/**
 * fal's queue and its list of past requests (docs/vendors/fal.md). Each model has its own fields. Announcements are signed
 * with a key that is published at `/jwks.json`.
 */
import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { type JsonObject, objectOf } from '../../domain/json.ts';
import { videoSizeFor } from '../../domain/video-size.ts';
import type { Rendering } from '../jobs/submission.ts';
import { type Route, route, sendJson, type SimulatorRequest } from '../router.ts';
import {
  bodyOf,
  type Fault,
  hasCredential,
  invalid,
  isListed,
  type Renders,
  type Render,
  type Vendor,
  type VendorAnswer,
  VendorFault,
} from './simulate-vendor.ts';

interface Model {
  /** The first two parts of its name. */
  readonly app: string;
  readonly kind: 'video' | 'image';
  readonly fields: readonly string[];
  readonly required: readonly string[];
}

const VIDEO_FIELDS = ['prompt', 'duration', 'aspect_ratio', 'resolution', 'generate_audio', 'negative_prompt', 'seed'];
const IMAGE_FIELDS = ['prompt', 'image_size', 'num_images', 'output_format', 'seed', 'guidance_scale'];

const MODELS: Readonly<Record<string, Model>> = {
  'fal-ai/veo3.1': { app: 'fal-ai/veo3.1', kind: 'video', fields: VIDEO_FIELDS, required: ['prompt'] },
  'fal-ai/veo3.1/image-to-video': {
    app: 'fal-ai/veo3.1',
    kind: 'video',
    fields: [...VIDEO_FIELDS, 'image_url'],
    required: ['prompt', 'image_url'],
  },
  'fal-ai/flux-2': { app: 'fal-ai/flux-2', kind: 'image', fields: IMAGE_FIELDS, required: ['prompt'] },
  'fal-ai/flux-2/edit': {
    app: 'fal-ai/flux-2',
    kind: 'image',
    fields: [...IMAGE_FIELDS, 'image_urls'],
    required: ['prompt', 'image_urls'],
  },
};

const APPS = [...new Set(Object.values(MODELS).map(({ app }) => app))];
const DURATIONS: readonly unknown[] = ['4s', '6s', '8s'];
const MAX_PAGE = 100;
const USER = 'user-of-the-simulator';
const KEYS = generateKeyPairSync('ed25519');

export const fal: Vendor = {
  name: 'fal',
  isAuthorized: (request, apiKey) => hasCredential(request, apiKey, 'Key'),
  answerFault: faultAnswer,
  routes: (renders) => [
    ...Object.entries(MODELS).map(([name, model]) => submissionRoute(name, model, renders)),
    ...APPS.flatMap((app) => requestRoutes(app, renders)),
    route('GET', '/v1/models/requests/by-endpoint', (request, response) =>
      sendJson(response, 200, listed(request, renders)),
    ),
  ],
  publicRoutes: () => [
    route('GET', '/jwks.json', (_request, response) =>
      sendJson(response, 200, { keys: [KEYS.publicKey.export({ format: 'jwk' })] }),
    ),
  ],

  announcement(render, state) {
    const isWell = state === 'succeeded';
    const body = JSON.stringify({
      request_id: render.id,
      gateway_request_id: render.id,
      status: isWell ? 'OK' : 'ERROR',
      ...(!isWell && { error: 'Invalid status code: 422' }),
      payload: null,
    });
    const timestamp = String(Math.floor(Date.now() / 1000));
    const message = [render.id, USER, timestamp, createHash('sha256').update(body).digest('hex')].join('\n');
    return {
      headers: {
        'content-type': 'application/json',
        'x-fal-webhook-request-id': render.id,
        'x-fal-webhook-user-id': USER,
        'x-fal-webhook-timestamp': timestamp,
        'x-fal-webhook-signature': sign(null, Buffer.from(message), KEYS.privateKey).toString('hex'),
      },
      body,
    };
  },
};

function submissionRoute(name: string, model: Model, renders: Renders): Route {
  return route('POST', `/${name}`, (request, response) => {
    const body = bodyOf(request, model.fields);
    const missing = model.required.find((field) => body[field] === undefined);
    if (missing !== undefined) throw invalid(missing, 'Field required');
    const { prompt } = body;
    if (typeof prompt !== 'string' || prompt === '') throw invalid('prompt', 'Input should be a valid string');
    const callbackUrl = request.url.searchParams.get('fal_webhook');
    const render = renders.accept({
      prompt,
      model: name,
      rendering: renderingOf(body, model),
      sent: body,
      ...(callbackUrl !== null && { callbackUrl }),
    });
    const address = `${new URL(`http://${request.headers.host}`).origin}/vendors/fal/${model.app}/requests/${render.id}`;
    const answer = {
      status: 'IN_QUEUE',
      request_id: render.id,
      response_url: address,
      status_url: `${address}/status`,
      cancel_url: `${address}/cancel`,
      queue_position: 0,
    };
    renders.acknowledge(render, response, { status: 200, body: answer });
  });
}

function requestRoutes(app: string, renders: Renders): readonly Route[] {
  const path = `/${app}/requests/{id}`;
  const asked = ({ parameters }: SimulatorRequest): Render => {
    const render = renders.get(parameters['id'] ?? '');
    if (MODELS[render.order.model]?.app !== app) throw new VendorFault({ kind: 'missing' });
    return render;
  };
  return [
    route('GET', `${path}/status`, (request, response) => {
      const status = STATES[renders.stateOf(asked(request))];
      sendJson(response, status === 'COMPLETED' ? 200 : 202, { status, request_id: request.parameters['id'] });
    }),
    route('GET', path, (request, response) => {
      const { status, body } = responseOf(renders, asked(request), request);
      sendJson(response, status, body);
    }),
    route('PUT', `${path}/cancel`, (request, response) => {
      const render = asked(request);
      const hasEnded = STATES[renders.stateOf(render)] === 'COMPLETED';
      renders.cancel(render);
      sendJson(response, hasEnded ? 400 : 202, { status: hasEnded ? 'ALREADY_COMPLETED' : 'CANCELLATION_REQUESTED' });
    }),
  ];
}

const STATES = {
  queued: 'IN_QUEUE',
  running: 'IN_PROGRESS',
  succeeded: 'COMPLETED',
  failed: 'COMPLETED',
  cancelled: 'COMPLETED',
  odd: 'WARMING_UP',
} as const;

/** @throws VendorFault for invalid fields */
function renderingOf(body: JsonObject, { kind }: Model): Rendering {
  if (kind === 'image') {
    const { width, height } = objectOf(body['image_size']);
    if (typeof width !== 'number' || typeof height !== 'number') throw invalid('image_size', 'Input should be a size');
    return { kind, width, height, transparent: false };
  }
  const { duration = '8s', resolution = '720p', aspect_ratio: ratio = '16:9' } = body;
  if (!DURATIONS.includes(duration)) throw invalid('duration', "Input should be '4s', '6s' or '8s'");
  if (resolution !== '720p' && resolution !== '1080p') throw invalid('resolution', "Input should be '720p' or '1080p'");
  if (ratio !== '16:9' && ratio !== '9:16') throw invalid('aspect_ratio', "Input should be '16:9' or '9:16'");
  return { kind, ...videoSizeFor(resolution, ratio), durationSeconds: Number.parseInt(String(duration), 10) };
}

function responseOf(renders: Renders, render: Render, request: SimulatorRequest): VendorAnswer {
  const state = renders.stateOf(render);
  if (state === 'cancelled') return detailed(400, 'value_error', 'Request was cancelled');
  if (state === 'failed') {
    const code = renders.failureOf(render);
    return refusalOf(code === 'processing_failed' ? 'internal_server_error' : code);
  }
  if (state !== 'succeeded') return { status: 400, body: { detail: 'Request is still in progress' } };
  const files = renders.linksOf(render, request);
  const { rendering } = render.order;
  if (rendering.kind === 'video') return { status: 200, body: { video: { url: files[0], content_type: 'video/mp4' } } };
  const { width, height } = rendering;
  const images = files.map((url) => ({ url, width, height, content_type: 'image/png' }));
  return { status: 200, body: { images, has_nsfw_concepts: images.map(() => false), seed: 1 } };
}

/** Newest first, from `start`. A cursor is a position in the list. */
function listed({ url: { searchParams } }: SimulatorRequest, renders: Renders): object {
  const endpoint = searchParams.get('endpoint_id');
  if (endpoint === null) throw invalid('endpoint_id', 'Field required');
  const start = Date.parse(searchParams.get('start') ?? '1970-01-01');
  const limit = Math.min(Number(searchParams.get('limit') ?? 20), MAX_PAGE);
  const from = Number(searchParams.get('cursor') ?? 0);
  const all = renders
    .all()
    .filter((render) => render.order.model === endpoint && render.job.createdAtMs >= start && isListed(render));
  const hasMore = from + limit < all.length;
  return {
    items: all.slice(from, from + limit).map(({ id, order, job }) => ({
      request_id: id,
      endpoint_id: endpoint,
      sent_at: new Date(job.createdAtMs).toISOString(),
      ...(searchParams.get('expand') === 'payloads' && { json_input: order.sent }),
    })),
    has_more: hasMore,
    next_cursor: hasMore ? String(from + limit) : null,
  };
}

function faultAnswer(fault: Fault): VendorAnswer {
  switch (fault.kind) {
    case 'unauthorized':
      return { status: 401, body: { detail: 'Cannot access application. Authentication is required.' } };
    case 'broke':
      return { status: 403, body: { detail: 'User is locked. Reason: Exhausted balance.' } };
    case 'missing':
      return { status: 404, body: { detail: 'Request not found' } };
    case 'limited':
      return {
        status: 429,
        body: { detail: 'Too many requests' },
        headers: { 'retry-after': String(fault.retryAfterSeconds) },
      };
    case 'invalid':
      return detailed(422, 'value_error', fault.message, ['body', fault.field]);
    case 'refused':
      return refusalOf(fault.code);
    default:
      return { status: 500, body: { detail: 'Internal Server Error' } };
  }
}

function refusalOf(code: string): VendorAnswer {
  if (code === 'internal_server_error') return detailed(500, code, 'Internal server error');
  if (code === 'processing_unavailable') return { status: 503, body: { detail: 'Service unavailable' } };
  const type = code === 'content_policy_violation' ? code : 'value_error';
  return detailed(422, type, 'The prompt asked for this refusal.');
}

function detailed(
  status: number,
  type: string,
  msg: string,
  loc: readonly string[] = ['body', 'prompt'],
): VendorAnswer {
  return { status, body: { detail: [{ loc, msg, type }] } };
}
