/**
 * Google's Vertex AI (docs/vendors/vertex.md): Veo's operations, whose files are in Cloud Storage and need the token, and
 * Imagen's images. The key of the simulator stands for a token.
 */
import { isObject, type JsonObject } from '../../domain/json.ts';
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
  throwIfFailed,
  type Vendor,
  type VendorAnswer,
  messageWithField,
  retryAfterOf,
} from './simulate-vendor.ts';

const PROJECT = 'projects/simulated/locations/us-central1';
/** Below the project, which is part of the operator's address. */
const MODELS = '/publishers/google/models';
const BUCKET = 'simulated-bucket';
const INSTANCE_FIELDS = ['prompt', 'image', 'lastFrame', 'referenceImages'];
const PARAMETER_FIELDS = [
  'sampleCount',
  'durationSeconds',
  'aspectRatio',
  'resolution',
  'personGeneration',
  'negativePrompt',
  'generateAudio',
  'seed',
  'storageUri',
];
const IMAGE_PARAMETER_FIELDS = ['sampleCount', 'aspectRatio', 'sampleImageSize', 'personGeneration', 'storageUri'];
const DURATIONS: readonly unknown[] = [4, 6, 8];
const RESOLUTIONS: readonly unknown[] = ['720p', '1080p', '4k'];
/** Width and height of each ratio at 1K. */
const SIZES: Readonly<Record<string, readonly [number, number]>> = {
  '1:1': [1024, 1024],
  '3:4': [896, 1280],
  '4:3': [1280, 896],
  '9:16': [768, 1408],
  '16:9': [1408, 768],
};
const SCALES: Readonly<Record<string, number>> = { '1K': 1, '2K': 2 };

export const vertex: Vendor = {
  name: 'vertex',
  answerFault: vertexFault,

  routes: (renders) => [
    route('POST', `${MODELS}/{model}:predictLongRunning`, (request, response) => {
      const { model = '' } = request.parameters;
      const { instance, parameters } = requestIn(bodyOf(request, ['instances', 'parameters']));
      onlyFields(instance, INSTANCE_FIELDS);
      onlyFields(parameters, PARAMETER_FIELDS);
      assertImages(instance);
      const { prompt } = instance;
      const sent = { model, fields: Object.keys(instance).join(' '), ...parameters };
      const render = renders.accept({ prompt: String(prompt), model, rendering: videoOf(parameters), sent });
      renders.acknowledge(render, response, { status: 200, body: { name: nameOf(render) } });
    }),
    route('POST', `${MODELS}/{model}:fetchPredictOperation`, (request, response) => {
      const { operationName } = bodyOf(request, ['operationName']);
      const id = String(operationName).split('/operations/')[1] ?? '';
      sendJson(response, 200, present(renders, renders.get(id)));
    }),
    route('GET', `/storage/v1/b/${BUCKET}/o/{object}`, ({ parameters }, response) =>
      renders.sendFile(renders.get(/^([\w-]+)\.mp4$/.exec(parameters['object'] ?? '')?.[1] ?? ''), 0, response),
    ),
    route('POST', `${MODELS}/{model}:predict`, async (request, response) => {
      const { model = '' } = request.parameters;
      const { instance, parameters } = requestIn(bodyOf(request, ['instances', 'parameters']));
      onlyFields(instance, ['prompt']);
      onlyFields(parameters, IMAGE_PARAMETER_FIELDS);
      const order = {
        prompt: String(instance['prompt']),
        model,
        rendering: imageOf(parameters),
        sent: { model, ...parameters },
      };
      const render = renders.accept(order);
      const files = await renders.filesOf(render);
      if (renders.stateOf(render) === 'failed' && renders.failureOf(render) === 'content_policy_violation') {
        return sendJson(response, 200, {
          predictions: [{ raiFilteredReason: 'The image was filtered, as asked for.' }],
        });
      }
      throwIfFailed(renders, render);
      const predictions = files.map((file) => ({ mimeType: 'image/png', bytesBase64Encoded: file.toString('base64') }));
      renders.acknowledge(render, response, { status: 200, body: { predictions } });
    }),
  ],
};

function nameOf({ id, order }: Render): string {
  return `${PROJECT}/publishers/google/models/${order.model}/operations/${id}`;
}

function requestIn({ instances, parameters = {} }: JsonObject): {
  readonly instance: JsonObject;
  readonly parameters: JsonObject;
} {
  const [instance] = Array.isArray(instances) ? instances.filter(isObject) : [];
  if (!instance || typeof instance['prompt'] !== 'string')
    throw invalid('instances', 'One instance with a prompt is required.');
  if (!isObject(parameters)) throw invalid('parameters', 'It must be an object.');
  return { instance, parameters };
}

/** Frames and references exclude each other, and all must be bytes. @throws VendorFault */
function assertImages({ image, lastFrame, referenceImages }: JsonObject): void {
  const references = Array.isArray(referenceImages) ? referenceImages.filter(isObject).map((one) => one['image']) : [];
  if (references.length > 0 && (image !== undefined || lastFrame !== undefined)) {
    throw invalid('referenceImages', 'Reference images cannot be combined with frames.');
  }
  for (const one of [image, lastFrame, ...references].filter((given) => given !== undefined)) {
    if (!isObject(one) || typeof one['bytesBase64Encoded'] !== 'string' || typeof one['mimeType'] !== 'string') {
      throw invalid('image', 'An image needs bytesBase64Encoded and mimeType.');
    }
  }
}

function videoOf({ durationSeconds = 8, aspectRatio = '16:9', resolution = '720p' }: JsonObject): Rendering {
  if (!DURATIONS.includes(durationSeconds)) throw invalid('durationSeconds', 'It must be 4, 6 or 8.');
  if (aspectRatio !== '16:9' && aspectRatio !== '9:16') throw invalid('aspectRatio', 'It must be 16:9 or 9:16.');
  if (typeof resolution !== 'string' || !RESOLUTIONS.includes(resolution)) throw invalid('resolution', 'unknown');
  return { kind: 'video', ...videoSizeFor(resolution, aspectRatio), durationSeconds: Number(durationSeconds) };
}

function imageOf({ aspectRatio = '1:1', sampleImageSize = '1K' }: JsonObject): Rendering {
  const size = SIZES[String(aspectRatio)];
  const scale = SCALES[String(sampleImageSize)];
  if (!size || scale === undefined) throw invalid('parameters', 'aspectRatio or sampleImageSize is not supported.');
  return { kind: 'image', width: size[0] * scale, height: size[1] * scale, transparent: false };
}

function present(renders: Renders, render: Render): JsonObject {
  const state = renders.stateOf(render);
  const name = nameOf(render);
  const { files } = render.job.submission.directives;
  if (state === 'succeeded') {
    const video = { gcsUri: `gs://${BUCKET}/${render.id}.mp4`, mimeType: 'video/mp4' };
    return { name, done: true, response: { videos: Array.from({ length: files }, () => video) } };
  }
  if (state !== 'failed') return { name };
  if (renders.failureOf(render) !== 'content_policy_violation') {
    return { name, done: true, error: { code: 13, message: 'Video generation failed due to an internal error.' } };
  }
  const filtered = { raiMediaFilteredCount: 1, raiMediaFilteredReasons: ['The video was filtered, as asked for.'] };
  return { name, done: true, response: filtered };
}

const FAULTS: FaultAnswers<readonly [code: number, status: string, message: string]> = {
  unauthorized: [401, 'UNAUTHENTICATED', 'Request had invalid authentication credentials.'],
  broke: [403, 'PERMISSION_DENIED', 'This API method requires billing to be enabled.'],
  missing: [404, 'NOT_FOUND', 'The operation was not found.'],
  error: [500, 'INTERNAL', 'Internal error encountered.'],
  invalid: [400, 'INVALID_ARGUMENT', 'A field is not valid.'],
  limited: [429, 'RESOURCE_EXHAUSTED', 'Quota exceeded.'],
  moderated: [400, 'INVALID_ARGUMENT', 'The prompt could not be submitted: it violates our usage guidelines.'],
  bad_request: [400, 'INVALID_ARGUMENT', 'Refused as asked.'],
  unavailable: [503, 'UNAVAILABLE', 'The service is currently unavailable.'],
};

function vertexFault(fault: Fault): VendorAnswer {
  const [code, status, usual] = answerFor(fault, FAULTS);
  const message = messageWithField(fault, usual);
  const headers = retryAfterOf(fault);
  return { status: code, body: { error: { code, message, status } }, headers };
}
