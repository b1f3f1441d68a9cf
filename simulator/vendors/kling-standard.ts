/** Kling's API of 2026: an address for each model, and one for the status of all tasks. It takes no pair of keys. */
import { isObject, type JsonObject } from '../../domain/json.ts';
import { videoSizeFor } from '../../domain/video-size.ts';
import type { Rendering } from '../jobs/submission.ts';
import { type Route, route, sendJson, type SimulatorRequest } from '../router.ts';
import {
  type Announcement,
  bodyOf,
  hasCredential,
  invalid,
  onlyFields,
  type Renders,
  type Render,
  type RenderState,
  VendorFault,
} from './simulate-vendor.ts';
import { signedAnnouncement } from './standard-webhooks.ts';

type Family = 'text-to-video' | 'image-to-video' | 'omni-video';

interface Model {
  readonly families: readonly Family[];
  readonly resolutions: readonly string[];
  readonly seconds: readonly number[];
  /** Whether two frames need the highest resolution. */
  readonly endFrameAt?: string;
  /** How many reference videos the model takes; one by default. */
  readonly maxVideos?: number;
}

const UP_TO_15 = Array.from({ length: 13 }, (_, index) => index + 3);
const MODELS: Readonly<Record<string, Model>> = {
  'kling-2.6': {
    families: ['text-to-video', 'image-to-video'],
    resolutions: ['720p', '1080p'],
    seconds: [5, 10],
    endFrameAt: '1080p',
  },
  'kling-3.0': {
    families: ['text-to-video', 'image-to-video'],
    resolutions: ['720p', '1080p', '4k'],
    seconds: UP_TO_15,
  },
  'kling-4.0': {
    families: ['text-to-video', 'image-to-video', 'omni-video'],
    resolutions: ['720p', '1080p', '2k', '4k'],
    seconds: Array.from({ length: 28 }, (_, index) => index + 3),
    maxVideos: 5,
  },
  'kling-3.0-omni': { families: ['omni-video'], resolutions: ['720p', '1080p', '4k'], seconds: UP_TO_15 },
};

const CONTENTS: Readonly<Record<Family, readonly unknown[]>> = {
  'text-to-video': [],
  'image-to-video': ['prompt', 'first_frame', 'last_frame'],
  'omni-video': ['prompt', 'first_frame', 'last_frame', 'refer_image', 'feature_video'],
};
const RATIOS: readonly unknown[] = ['16:9', '9:16', '1:1', '21:9'];
/** The short edges of resolutions whose names do not contain them. */
const EDGES: Readonly<Record<string, string>> = { '2k': '1440p', '4k': '2160p' };
const MAX_PROMPT_CHARACTERS = 2_500;

const STATES = {
  queued: 'submitted',
  running: 'processing',
  succeeded: 'succeeded',
  failed: 'failed',
  cancelled: 'failed',
  odd: 'reheating',
} as const;

export function standardRoutes(renders: Renders): readonly Route[] {
  return [
    ...(['text-to-video', 'image-to-video', 'omni-video'] as const).map((family) =>
      route('POST', `/${family}/{model}`, (request, response) => {
        assertApiKey(request, renders);
        const render = renders.accept(orderOf(request, family, renders));
        const { id, order } = render;
        const data = { id, status: 'submitted', create_time: render.job.createdAtMs, external_id: order.clientId };
        renders.acknowledge(render, response, { status: 200, body: envelope(data) });
      }),
    ),
    route('GET', '/tasks', (request, response) => {
      assertApiKey(request, renders);
      const { searchParams } = request.url;
      const [ids, clientIds] = [searchParams.get('task_ids'), searchParams.get('external_task_ids')];
      if ((ids === null) === (clientIds === null)) throw invalid('task_ids', 'either task_ids or external_task_ids');
      const wanted = (ids ?? clientIds ?? '').split(',');
      const known = renders
        .all()
        .filter(isStandard)
        .filter(({ id, order }) => wanted.includes(ids === null ? (order.clientId ?? '') : id));
      sendJson(response, 200, envelope(known.flatMap((render) => shown(renders, render, request))));
    }),
  ];
}

/** Whether a render was ordered here. */
export function isStandard({ order }: Render): boolean {
  return isObject(order.sent) && typeof order.sent['family'] === 'string';
}

/** Signed as Standard Webhooks are. https://kling.ai/document-api/api/get-started/callbacks */
export function standardAnnouncement(render: Render, state: RenderState, secret: string): Announcement {
  const { id, order } = render;
  return signedAnnouncement({ id, status: STATES[state], external_id: order.clientId ?? null }, secret);
}

function assertApiKey(request: SimulatorRequest, { apiKey }: Renders): void {
  if (!hasCredential(request, apiKey)) throw new VendorFault({ kind: 'unauthorized' });
}

function orderOf(request: SimulatorRequest, family: Family, renders: Renders): Parameters<Renders['accept']>[0] {
  const name = request.parameters['model'] ?? '';
  const model = Object.hasOwn(MODELS, name) ? MODELS[name] : undefined;
  if (!model?.families.includes(family)) throw new VendorFault({ kind: 'missing' });
  const inputs = family === 'text-to-video' ? 'prompt' : 'contents';
  const { options = {}, settings = {}, ...body } = bodyOf(request, [inputs, 'settings', 'options']);
  const contents = body['contents'] ?? [];
  if (!isObject(options) || !isObject(settings) || !Array.isArray(contents)) throw invalid('body', 'has a wrong shape');
  onlyFields(options, ['external_task_id', 'callback_url', 'watermark_info']);
  const prompt = family === 'text-to-video' ? body['prompt'] : promptIn(contents, CONTENTS[family]);
  if (typeof prompt !== 'string' || prompt.length > MAX_PROMPT_CHARACTERS) throw invalid('prompt', 'prompt is invalid');
  const { external_task_id: clientId, callback_url: callbackUrl } = options;
  if (renders.all().some(({ order }) => clientId !== undefined && order.clientId === clientId)) {
    throw invalid('external_task_id', `external_task_id ${String(clientId)} already exists.`);
  }
  const videos = contents.filter((item) => isObject(item) && item['type'] === 'feature_video');
  if (videos.length > (model.maxVideos ?? 1)) throw invalid('contents', 'too many reference videos');
  const hasEndFrame = contents.some((item) => isObject(item) && item['type'] === 'last_frame');
  const hasFrame = hasEndFrame || contents.some((item) => isObject(item) && item['type'] === 'first_frame');
  return {
    prompt,
    model: name,
    rendering: renderingOf(settings, model, { hasFrame, hasEndFrame }),
    sent: { family, settings, ...body },
    ...(typeof clientId === 'string' && { clientId }),
    ...(typeof callbackUrl === 'string' && { callbackUrl }),
  };
}

function promptIn(contents: readonly unknown[], allowed: readonly unknown[]): unknown {
  const items = contents.filter(isObject);
  const wrong = items.find(({ type }) => !allowed.includes(type));
  if (wrong || items.length !== contents.length) throw invalid('contents', 'contents has a type that is not allowed');
  const linkless = items.find(({ type, url }) => type !== 'prompt' && typeof url !== 'string');
  if (linkless) throw invalid('contents', `${String(linkless['type'])} needs a url`);
  return items.find(({ type }) => type === 'prompt')?.['text'];
}

function renderingOf(
  settings: JsonObject,
  model: Model,
  { hasFrame, hasEndFrame }: { readonly hasFrame: boolean; readonly hasEndFrame: boolean },
): Rendering {
  const names = ['resolution', 'duration', 'audio', 'multi_shot', ...(hasFrame ? [] : ['aspect_ratio'])];
  onlyFields(settings, names);
  const { resolution = '720p', aspect_ratio: ratio = '16:9', duration = 5 } = settings;
  if (typeof resolution !== 'string' || !model.resolutions.includes(resolution)) {
    throw invalid('settings.resolution', 'the model has no such resolution');
  }
  if (hasEndFrame && model.endFrameAt !== undefined && resolution !== model.endFrameAt) {
    throw invalid('settings.resolution', `two frames need ${model.endFrameAt}`);
  }
  if (typeof duration !== 'number' || !model.seconds.includes(duration)) {
    throw invalid('settings.duration', 'the model has no such duration');
  }
  if (typeof ratio !== 'string' || !RATIOS.includes(ratio)) throw invalid('settings.aspect_ratio', 'no such ratio');
  return { kind: 'video', ...videoSizeFor(EDGES[resolution] ?? resolution, ratio), durationSeconds: duration };
}

/** Returns no task while the prompt's directive hides it. */
function shown(renders: Renders, render: Render, request: SimulatorRequest): readonly JsonObject[] {
  try {
    renders.get(render.id);
  } catch (error) {
    if (error instanceof VendorFault && error.fault.kind === 'missing') return [];
    throw error;
  }
  const state = renders.stateOf(render);
  const isModerated = renders.failureOf(render) === 'content_policy_violation';
  const links = state === 'succeeded' ? renders.linksOf(render, request) : [];
  return [
    {
      id: render.id,
      status: STATES[state],
      message: state !== 'failed' ? '' : isModerated ? 'Failure to pass the risk control system' : 'The render failed',
      create_time: render.job.createdAtMs,
      update_time: Date.now(),
      external_id: render.order.clientId ?? '',
      outputs: links.map((url, index) => ({ type: 'video', id: String(index), url, watermark_url: '' })),
      ...(state === 'succeeded' && { billing: [{ charge_type: 'unit', amount: '1.5', package_type: 'video' }] }),
    },
  ];
}

export function envelope(data: unknown): JsonObject {
  return { code: 0, message: 'SUCCEED', request_id: 'simulated', data };
}
