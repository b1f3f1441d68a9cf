/**
 * Replicate's predictions and the list of them (docs/vendors/replicate.md). Each model has its own fields. Announcements are
 * signed with the account's secret.
 */
import type { ServerResponse } from 'node:http';
import { isObject, type JsonObject } from '../../domain/json.ts';
import { videoSizeFor } from '../../domain/video-size.ts';
import { updatedAtMs } from '../jobs/job.ts';
import type { Rendering } from '../jobs/submission.ts';
import { route, sendJson, type SimulatorRequest } from '../router.ts';
import {
  bodyOf,
  type Fault,
  invalid,
  isListed,
  onlyFields,
  type Renders,
  type Render,
  type Vendor,
  type VendorAnswer,
  VendorFault,
} from './simulate-vendor.ts';
import { signedAnnouncement } from './standard-webhooks.ts';
import { parseUrl } from '../../domain/parse-url.ts';

interface Model {
  readonly kind: 'video' | 'image';
  /** The version, if requests name the model by version. */
  readonly version?: string;
  readonly fields: readonly string[];
}

const MODELS: Readonly<Record<string, Model>> = {
  'google/veo-3.1-fast': {
    kind: 'video',
    fields: [
      'prompt',
      'image',
      'last_frame',
      'duration',
      'aspect_ratio',
      'resolution',
      'negative_prompt',
      'generate_audio',
      'seed',
    ],
  },
  'black-forest-labs/flux-2-pro': {
    kind: 'image',
    fields: [
      'prompt',
      'input_images',
      'aspect_ratio',
      'width',
      'height',
      'output_format',
      'output_quality',
      'safety_tolerance',
      'seed',
    ],
  },
  'stability-ai/sdxl': {
    kind: 'image',
    version: '7762fd07cf82c948538e41f63f77d685e02b063e37e496e96eefd46c929f9bdc',
    fields: ['prompt', 'image', 'width', 'height', 'num_outputs', 'seed'],
  },
};

const ENVELOPE = ['input', 'webhook', 'webhook_events_filter'];
const EVENTS: readonly unknown[] = ['start', 'output', 'logs', 'completed'];
const DURATIONS: readonly unknown[] = [4, 6, 8];
const LIFETIME = /^\d+(\.\d+)?(s|m|h)$/;
const PAGE = 100;

export const replicate: Vendor = {
  name: 'replicate',
  answerFault: faultAnswer,

  routes: (renders) => [
    route('POST', '/v1/models/{owner}/{name}/predictions', (request, response) => {
      const { owner, name } = request.parameters;
      const model = MODELS[`${owner}/${name}`];
      if (!model || model.version !== undefined) throw new VendorFault({ kind: 'missing' });
      predict(renders, request, response, `${owner}/${name}`);
    }),
    route('POST', '/v1/predictions', (request, response) => {
      const version = bodyOf(request, [...ENVELOPE, 'version'])['version'];
      const [name] = Object.entries(MODELS).find(([, model]) => model.version === version) ?? [];
      if (version === undefined || name === undefined) return sendJson(response, 422, NO_SUCH_VERSION);
      predict(renders, request, response, name);
    }),
    route('GET', '/v1/predictions', (request, response) => sendJson(response, 200, listed(request, renders))),
    route('GET', '/v1/predictions/{id}', (request, response) => {
      sendJson(response, 200, present(renders, renders.get(request.parameters['id'] ?? ''), request));
    }),
    route('POST', '/v1/predictions/{id}/cancel', (request, response) => {
      const render = renders.get(request.parameters['id'] ?? '');
      renders.cancel(render);
      sendJson(response, 200, present(renders, render, request));
    }),
  ],

  announcement(render, state, secret) {
    return signedAnnouncement({ id: render.id, model: render.order.model, status: STATES[state] }, secret);
  },
};

const NO_SUCH_VERSION = {
  title: 'Invalid version or not permitted',
  detail: 'The specified version does not exist (or perhaps you don’t have permission to use it?)',
  status: 422,
};

function predict(renders: Renders, request: SimulatorRequest, response: ServerResponse, name: string): void {
  const { input, webhook, webhook_events_filter: events = [] } = bodyOf(request, [...ENVELOPE, 'version']);
  const model = MODELS[name];
  if (!model || !isObject(input)) throw invalid('input', 'input is required');
  onlyFields(input, model.fields);
  const { prompt } = input;
  if (typeof prompt !== 'string' || prompt === '') throw invalid('input.prompt', 'prompt is required');
  if (webhook !== undefined && (typeof webhook !== 'string' || parseUrl(webhook) === null)) {
    throw invalid('webhook', 'Does not match format "uri"');
  }
  if (!Array.isArray(events) || !events.every((event) => EVENTS.includes(event))) {
    throw invalid('webhook_events_filter', 'must be one of: "start", "output", "logs", "completed"');
  }
  const lifetime = request.headers['cancel-after'];
  if (lifetime !== undefined && !LIFETIME.test(String(lifetime))) throw invalid('Cancel-After', 'not a duration');
  const render = renders.accept({
    prompt,
    model: name,
    rendering: renderingOf(input, model),
    sent: input,
    ...(webhook !== undefined && { callbackUrl: webhook }),
  });
  renders.acknowledge(render, response, { status: 201, body: present(renders, render, request) });
}

/** @throws VendorFault for invalid fields */
function renderingOf(input: JsonObject, { kind }: Model): Rendering {
  if (kind === 'image') {
    const { width = 1024, height = 1024 } = input;
    if (typeof width !== 'number' || typeof height !== 'number') throw invalid('input.width', 'must be an integer');
    return { kind, width, height, transparent: false };
  }
  const { duration = 8, resolution = '1080p', aspect_ratio: ratio = '16:9' } = input;
  if (typeof duration !== 'number' || !DURATIONS.includes(duration)) {
    throw invalid('input.duration', 'must be one of: 4, 6, 8');
  }
  if (resolution !== '720p' && resolution !== '1080p') throw invalid('input.resolution', 'must be 720p or 1080p');
  if (ratio !== '16:9' && ratio !== '9:16') throw invalid('input.aspect_ratio', 'must be 16:9 or 9:16');
  return { kind, ...videoSizeFor(resolution, ratio), durationSeconds: duration };
}

const STATES = {
  queued: 'starting',
  running: 'processing',
  succeeded: 'succeeded',
  failed: 'failed',
  cancelled: 'canceled',
  odd: 'booting',
} as const;

const FAILURES: Readonly<Record<string, string>> = {
  content_policy_violation:
    'The input or output was flagged as sensitive. Please try again with different inputs. (E005)',
  processing_timeout: 'Prediction did not start in time (E6716)',
};

function present(renders: Renders, render: Render, request: SimulatorRequest): object {
  const { id, order, job } = render;
  const state = renders.stateOf(render);
  const hasEnded = state === 'succeeded' || state === 'failed' || state === 'cancelled';
  const files = state === 'succeeded' ? renders.linksOf(render, request) : null;
  const address = `http://${request.headers.host}/vendors/replicate/v1/predictions/${id}`;
  const failure = renders.failureOf(render);
  return {
    id,
    model: order.model,
    version: MODELS[order.model]?.version ?? 'hidden',
    input: order.sent,
    output: files?.length === 1 ? files[0] : files,
    logs: '',
    error: state === 'failed' ? (FAILURES[failure] ?? `The prompt asked for this failure: ${failure}`) : null,
    status: STATES[state],
    source: 'api',
    data_removed: false,
    created_at: new Date(job.createdAtMs).toISOString(),
    ...(hasEnded && {
      completed_at: new Date(updatedAtMs(job, Date.now())).toISOString(),
      metrics: { predict_time: 4.25, total_time: 5.5 },
    }),
    urls: { get: address, cancel: `${address}/cancel` },
  };
}

/** Newest first. A cursor is a position in the list. */
function listed(request: SimulatorRequest, renders: Renders): object {
  const { searchParams } = request.url;
  const after = searchParams.get('created_after') ?? '1970-01-01';
  const from = Number(searchParams.get('cursor') ?? 0);
  const all = renders.all().filter((render) => render.job.createdAtMs >= Date.parse(after) && isListed(render));
  const next = new URLSearchParams({ created_after: after, cursor: String(from + PAGE) });
  return {
    previous: null,
    next:
      from + PAGE < all.length
        ? `http://${request.headers.host}/vendors/replicate/v1/predictions?${next.toString()}`
        : null,
    results: all.slice(from, from + PAGE).map((render) => present(renders, render, request)),
  };
}

function faultAnswer(fault: Fault): VendorAnswer {
  switch (fault.kind) {
    case 'unauthorized':
      return problem(401, 'Unauthenticated', 'You did not pass a valid authentication token');
    case 'broke':
      return problem(402, 'Insufficient credit', 'You have insufficient credit to run this model.');
    case 'missing':
      return problem(404, 'Not found', 'The requested resource could not be found.');
    case 'limited': {
      const { retryAfterSeconds: seconds } = fault;
      return {
        ...problem(429, 'Too many requests', `Request was throttled. Your rate limit resets in ~${seconds}s.`),
        headers: { 'ratelimit-remaining': '0', 'ratelimit-reset': String(seconds) },
      };
    }
    case 'invalid': {
      const { status, body } = problem(422, 'Input validation failed', `- ${fault.field}: ${fault.message}\n`);
      return { status, body: { ...body, invalid_fields: [{ field: fault.field, description: fault.message }] } };
    }
    case 'refused':
      if (fault.code === 'processing_unavailable') return problem(503, 'Service unavailable', 'Try again later.');
      return problem(
        422,
        'Input validation failed',
        fault.code === 'content_policy_violation'
          ? '- input.prompt: flagged as sensitive'
          : '- input.prompt: The prompt asked for this refusal.',
      );
    default:
      return problem(500, 'Internal server error', 'Something went wrong.');
  }
}

function problem(status: number, title: string, detail: string): VendorAnswer & { readonly body: object } {
  return { status, body: { title, detail, status } };
}
