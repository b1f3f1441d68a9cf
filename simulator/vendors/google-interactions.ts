/**
 * Google's Interactions API for Omni's videos, after the types of `@google/genai` (`src/gaos/models/interactions`) and
 * https://ai.google.dev/gemini-api/docs/api-errors. A refused video completes with text instead.
 */
import type { ServerResponse } from 'node:http';
import { isObject, type JsonObject, objectOf } from '../../domain/json.ts';
import { videoSizeFor } from '../../domain/video-size.ts';
import { updatedAtMs } from '../jobs/job.ts';
import type { Rendering } from '../jobs/submission.ts';
import { type Route, route, sendJson, type SimulatorRequest } from '../router.ts';
import {
  bodyOf,
  invalid,
  onlyFields,
  type Renders,
  type Render,
  VendorFault,
  answerFor,
  type FaultAnswers,
  messageWithField,
  retryAfterOf,
} from './simulate-vendor.ts';

const PATH = '/v1beta/interactions';
const FIELDS = [
  'model',
  'input',
  'response_format',
  'background',
  'store',
  'stream',
  'generation_config',
  'webhook_config',
  'service_tier',
];
const FORMAT_FIELDS = ['type', 'delivery', 'aspect_ratio', 'duration', 'resolution', 'gcs_uri'];
const TASKS: readonly unknown[] = ['text_to_video', 'image_to_video', 'reference_to_video', 'edit', 'extend'];
const RESOLUTIONS: readonly unknown[] = ['360p', '720p', '1080p', '4k'];
const RATIOS: readonly unknown[] = ['16:9', '9:16'];
const SECONDS = { min: 3, max: 15 };
const TOKENS_PER_SECOND = 5_792;

const STATES = {
  queued: 'queued',
  running: 'in_progress',
  succeeded: 'completed',
  failed: 'failed',
  cancelled: 'cancelled',
  odd: 'reheating',
} as const;

export function interactionRoutes(renders: Renders): readonly Route[] {
  return [
    route(
      'POST',
      PATH,
      inOwnWords((request, response) => {
        const body = bodyOf(request, FIELDS);
        if (body['background'] !== true) throw invalid('background', 'The simulator renders in the background only.');
        if (body['store'] === false) throw invalid('store', 'Background interactions must be stored.');
        const parts = partsOf(body['input']);
        const prompt = parts.flatMap(({ text }) => (typeof text === 'string' ? [text] : [])).join(' ');
        if (prompt === '') throw invalid('input', 'A text is required.');
        const format = formatOf(body['response_format']);
        const task = taskOf(body['generation_config']);
        const [callbackUrl] = urisIn(body['webhook_config']);
        const render = renders.accept({
          prompt,
          model: String(body['model']),
          rendering: videoOf(format),
          sent: { model: body['model'], task, inputs: parts.length - 1, ...format },
          ...(callbackUrl !== undefined && { callbackUrl }),
        });
        renders.acknowledge(render, response, { status: 200, body: present(renders, render, '') });
      }),
    ),
    route(
      'GET',
      `${PATH}/{id}`,
      inOwnWords(({ parameters, headers }, response) => {
        sendJson(response, 200, present(renders, renders.get(renderIdOf(parameters['id'])), headers.host ?? ''));
      }),
    ),
    route(
      'POST',
      `${PATH}/{id}/cancel`,
      inOwnWords(({ parameters, headers }, response) => {
        const render = renders.get(renderIdOf(parameters['id']));
        renders.cancel(render);
        sendJson(response, 200, present(renders, render, headers.host ?? ''));
      }),
    ),
  ];
}

export function interactionIdOf({ id }: Render): string {
  return `v1_${id}`;
}

function renderIdOf(id = ''): string {
  return id.replace(/^v1_/, '');
}

/** Answers faults as this API does; its errors have words for codes. */
function inOwnWords(handle: (request: SimulatorRequest, response: ServerResponse) => void) {
  return (request: SimulatorRequest, response: ServerResponse): void => {
    try {
      handle(request, response);
    } catch (error) {
      if (!(error instanceof VendorFault)) throw error;
      const [status, code, usual] = answerFor(error.fault, FAULTS);
      const message = messageWithField(error.fault, usual);
      for (const [name, value] of Object.entries(retryAfterOf(error.fault))) response.setHeader(name, value);
      sendJson(response, status, { error: { code, message } });
    }
  };
}

const FAULTS: FaultAnswers<readonly [status: number, code: string, message: string]> = {
  unauthorized: [401, 'authentication', 'The API key is invalid.'],
  broke: [402, 'payment_required', 'The prepaid credit is used up.'],
  missing: [400, 'invalid_request', 'Invalid interaction name.'],
  error: [500, 'api_error', 'An internal error has occurred.'],
  invalid: [400, 'invalid_request', 'A parameter is not valid.'],
  limited: [429, 'rate_limit_exceeded', 'Too many requests.'],
  moderated: [400, 'content_blocked', 'The prompt was blocked.'],
  bad_request: [400, 'invalid_request', 'Refused as asked.'],
  unavailable: [503, 'service_unavailable', 'The model is overloaded.'],
};

/** @throws VendorFault */
function partsOf(input: unknown): readonly JsonObject[] {
  const parts = typeof input === 'string' ? [{ type: 'text', text: input }] : input;
  if (!Array.isArray(parts)) throw invalid('input', 'It must be a text or a list of contents.');
  return parts.map((part: unknown) => {
    if (!isObject(part)) throw invalid('input', 'A content must be an object.');
    const { type, data, uri, mime_type: mimeType } = part;
    if (type === 'text') {
      onlyFields(part, ['type', 'text']);
    } else if (type === 'image' || type === 'video') {
      onlyFields(part, ['type', 'data', 'uri', 'mime_type', 'resolution']);
      const hasFile = typeof (data ?? uri) === 'string' && (data === undefined || uri === undefined);
      if (!hasFile || typeof mimeType !== 'string') throw invalid('input', 'A file needs data or uri, and mime_type.');
    } else {
      throw invalid('input', `The model takes no ${String(type)}.`);
    }
    return part;
  });
}

function formatOf(format: unknown): JsonObject {
  if (!isObject(format)) throw invalid('response_format', 'It must be an object.');
  onlyFields(format, FORMAT_FIELDS);
  if (format['type'] !== 'video') throw invalid('response_format.type', 'The model renders videos.');
  return format;
}

function videoOf({ aspect_ratio: ratio = '16:9', duration = '8s', resolution = '720p' }: JsonObject): Rendering {
  if (typeof ratio !== 'string' || !RATIOS.includes(ratio)) throw invalid('aspect_ratio', 'It must be 16:9 or 9:16.');
  if (typeof resolution !== 'string' || !RESOLUTIONS.includes(resolution)) throw invalid('resolution', 'unknown');
  const seconds = typeof duration === 'string' && /^\d{1,2}s$/.test(duration) ? Number.parseInt(duration, 10) : 0;
  if (seconds < SECONDS.min || seconds > SECONDS.max) throw invalid('duration', 'It must be from 3s to 15s.');
  return { kind: 'video', ...videoSizeFor(resolution, ratio), durationSeconds: seconds };
}

function taskOf(config: unknown): unknown {
  const { video_config: video } = objectOf(config);
  const task = isObject(video) ? video['task'] : undefined;
  if (task !== undefined && !TASKS.includes(task)) throw invalid('task', 'unknown');
  return task;
}

function urisIn(config: unknown): readonly string[] {
  const uris = isObject(config) ? config['uris'] : [];
  return Array.isArray(uris) ? uris.filter((uri) => typeof uri === 'string') : [];
}

function present(renders: Renders, render: Render, host: string): JsonObject {
  const state = renders.stateOf(render);
  const isModerated = renders.failureOf(render) === 'content_policy_violation';
  const isRefused = state === 'failed' && isModerated;
  return {
    id: interactionIdOf(render),
    object: 'interaction',
    model: render.order.model,
    status: isRefused ? 'completed' : STATES[state],
    created: new Date(render.job.createdAtMs).toISOString(),
    updated: new Date(updatedAtMs(render.job, Date.now())).toISOString(),
    ...(state === 'failed' && !isRefused && { errors: [{ code: 'api_error', message: 'It failed, as asked for.' }] }),
    ...(isRefused && { steps: [outputOf([{ type: 'text', text: 'I cannot render this.' }])], usage: usageOf(0) }),
    ...(state === 'succeeded' && resultOf(render, host)),
  };
}

function resultOf({ id, order, job }: Render, host: string): JsonObject {
  const seconds = order.rendering.kind === 'video' ? order.rendering.durationSeconds : 0;
  const uri = `http://${host}/vendors/google/v1beta/files/${id}:download?alt=media`;
  const { files } = job.submission.directives;
  const videos = Array.from({ length: files }, () => ({ type: 'video', mime_type: 'video/mp4', uri }));
  return { steps: [outputOf(videos)], usage: usageOf(seconds * TOKENS_PER_SECOND) };
}

function outputOf(content: readonly JsonObject[]): JsonObject {
  return { type: 'model_output', content };
}

function usageOf(tokens: number): JsonObject {
  const byModality = tokens === 0 ? [] : [{ modality: 'video', tokens }];
  return { total_output_tokens: tokens, output_tokens_by_modality: byModality };
}
