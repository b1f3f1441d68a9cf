/** xAI's Grok Imagine videos (docs/vendors/xai.md): requests with an id to poll, and the exact charge of each. */
import { isObject, type JsonObject, objectOf } from '../../domain/json.ts';
import { videoSizeFor } from '../../domain/video-size.ts';
import type { Rendering } from '../jobs/submission.ts';
import { route, sendJson } from '../router.ts';
import {
  answerFor,
  bodyOf,
  type Fault,
  type FaultAnswers,
  invalid,
  onlyFields,
  type Render,
  type Renders,
  type Vendor,
  type VendorAnswer,
  messageWithField,
  retryAfterOf,
} from './simulate-vendor.ts';

const FIELDS = [
  'model',
  'prompt',
  'duration',
  'aspect_ratio',
  'resolution',
  'image',
  'reference_images',
  'reference_audios',
  'generate_audio',
  'user',
];
/** The resolutions of each model, and their ticks a second: a US dollar has 10,000,000,000 ticks. */
const MODELS: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  'grok-imagine-video': { '480p': 500_000_000, '720p': 700_000_000 },
  'grok-imagine-video-1.5': { '480p': 800_000_000, '720p': 1_400_000_000, '1080p': 2_500_000_000 },
  'grok-imagine-video-1.5-lite': { '480p': 200_000_000, '720p': 400_000_000 },
};
const RATIOS: readonly unknown[] = ['16:9', '9:16', '1:1', '4:3', '3:4', '3:2', '2:3'];
const MAX_SECONDS = 15;
const MAX_REFERENCES = 7;
const MAX_PROMPT_BYTES = 4_096;

export const xai: Vendor = {
  name: 'xai',
  answerFault: xaiFault,

  routes: (renders) => [
    route('GET', '/v1/video-generation-models', (_request, response) =>
      sendJson(response, 200, { models: Object.keys(MODELS).map((id) => ({ id, aliases: [] })) }),
    ),
    route('POST', '/v1/videos/generations', (request, response) => {
      const body = bodyOf(request, FIELDS);
      const { model, prompt } = body;
      if (typeof prompt !== 'string' || prompt === '' || Buffer.byteLength(prompt) > MAX_PROMPT_BYTES) {
        throw invalid('prompt', 'prompt is required and has at most 4096 bytes');
      }
      assertImages(body);
      const render = renders.accept({ prompt, model: String(model), rendering: videoOf(body), sent: body });
      renders.acknowledge(render, response, { status: 200, body: { request_id: render.id } });
    }),
    route('GET', '/v1/videos/{id}', (request, response) => {
      const render = renders.get(request.parameters['id'] ?? '');
      const state = renders.stateOf(render);
      if (state === 'queued') response.writeHead(202).end();
      else if (state === 'running') sendJson(response, 202, { status: 'pending', progress: 10 });
      else if (state === 'odd') sendJson(response, 202, { status: 'reheating' });
      else sendJson(response, 200, endOf(renders, render, renders.linksOf(render, request)));
    }),
  ],
};

/** A link each; frames and references exclude each other. */
function assertImages({ image, reference_images: references = [] }: JsonObject): void {
  if (!Array.isArray(references) || references.length > MAX_REFERENCES) throw invalid('reference_images', 'too many');
  if (image !== undefined && references.length > 0) throw invalid('image', 'cannot be combined with reference_images');
  for (const one of [image, ...references].filter((given) => given !== undefined)) {
    if (!isObject(one) || typeof one['url'] !== 'string') throw invalid('image', 'needs a url');
    onlyFields(one, ['url']);
  }
}

function videoOf(body: JsonObject): Rendering {
  const { model, duration = 8, aspect_ratio: ratio = '16:9', resolution = '480p', reference_images: references } = body;
  const resolutions = Object.hasOwn(MODELS, String(model)) ? MODELS[String(model)] : undefined;
  if (!resolutions) throw invalid('model', `The model ${String(model)} does not exist.`);
  if (typeof resolution !== 'string' || resolutions[resolution] === undefined)
    throw invalid('resolution', 'not offered');
  if (references !== undefined && resolution === '1080p') throw invalid('resolution', 'references have at most 720p');
  if (typeof duration !== 'number' || !Number.isInteger(duration) || duration < 1 || duration > MAX_SECONDS) {
    throw invalid('duration', 'must be from 1 to 15');
  }
  if (typeof ratio !== 'string' || !RATIOS.includes(ratio)) throw invalid('aspect_ratio', 'not offered');
  return { kind: 'video', ...videoSizeFor(resolution, ratio), durationSeconds: duration };
}

/** xAI charges for a video that moderation stopped, too. */
function endOf(renders: Renders, render: Render, [url = '']: readonly string[]): JsonObject {
  const state = renders.stateOf(render);
  const { model, rendering, sent } = render.order;
  const seconds = rendering.kind === 'video' ? rendering.durationSeconds : 0;
  const { resolution: wanted } = objectOf(sent);
  const resolution = typeof wanted === 'string' ? wanted : '480p';
  const usage = { cost_in_usd_ticks: seconds * (MODELS[model]?.[resolution] ?? 0) };
  if (state === 'succeeded') {
    return { status: 'done', model, progress: 100, usage, video: { url, duration: seconds, respect_moderation: true } };
  }
  if (renders.failureOf(render) === 'content_policy_violation') {
    return { status: 'done', model, usage, video: { url: '', duration: seconds, respect_moderation: false } };
  }
  return { status: 'failed', model, error: { code: 'internal_error', message: 'It failed, as asked for.' } };
}

const FAULTS: FaultAnswers<readonly [status: number, code: string, message: string]> = {
  unauthorized: [400, 'Client specified an invalid argument', 'Incorrect API key provided.'],
  broke: [403, 'The caller does not have permission', 'Your team has used all available credits.'],
  missing: [404, 'Some requested entity was not found', 'The video does not exist.'],
  error: [500, 'Internal error', 'An internal error has occurred.'],
  invalid: [400, 'Client specified an invalid argument', 'A field is not valid.'],
  limited: [429, 'Some resource has been exhausted', 'Too many requests.'],
  moderated: [400, 'Client specified an invalid argument', 'The prompt was rejected by content moderation.'],
  bad_request: [400, 'Client specified an invalid argument', 'Refused as asked.'],
  unavailable: [503, 'The service is currently unavailable', 'No capacity.'],
};

function xaiFault(fault: Fault): VendorAnswer {
  const [status, code, usual] = answerFor(fault, FAULTS);
  const error = messageWithField(fault, usual);
  const headers = retryAfterOf(fault);
  return { status, body: { code, error }, headers };
}
