/**
 * Google's Vertex AI (docs/vendors/vertex.md;
 * https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/veo-video-generation; the client in vercel/ai
 * `packages/google-vertex`): Veo's videos are operations to wait for, Imagen's images come in the answer. Operations
 * cannot be listed. The operation of a filtered video is done and has no video. Files are in the answers, or in Cloud
 * Storage if the route names a bucket.
 */
import { isObject, type JsonObject, listOf, objectOf } from '../../../domain/json.ts';
import { imageTierOf } from '../../../domain/image-size.ts';
import type { JobState, KindTraits, MediaAdapter, RenderRequest } from '../adapter.ts';
import { bearer } from '../credentials.ts';
import { documentOf, isMissing } from '../exchange.ts';
import { failed, running, unfinished } from '../job-state.ts';
import { mergeParams } from '../json.ts';
import { JobRefusedError, OutcomeUnknownError, ProviderUnreachableError, textOf } from '../outcomes.ts';
import { ANY_RANGE, ratioFor } from '../range.ts';
import { requireVendorResolution } from '../resolutions.ts';
import { RETIRED_VERTEX_MODELS } from '../retired-models.ts';
import type { ResultFile } from '../result-file.ts';
import { jobVerdictFor } from '../vendor-codes.ts';
import { fileOf, googleRefusal, inlineInputs, safetyIn } from './google-answers.ts';
import { googleNumbers } from './google-codes.ts';

const MODELS = 'publishers/google/models';
const STORAGE = 'https://storage.googleapis.com';

const RESOLUTIONS = { '720p': '720p', '1080p': '1080p', '4k': '4k' };
const VIDEO: KindTraits = {
  answers: 'job',
  recovery: 'none',
  inputs: 'bytes',
  poll: { firstMs: 10_000, everyMs: 15_000 },
  resolutions: RESOLUTIONS,
  range: { ...ANY_RANGE, aspectRatios: ['16:9', '9:16'], seconds: { min: 4, max: 8 } },
};
const IMAGE_RATIOS = ['1:1', '3:4', '4:3', '9:16', '16:9'] as const;
const IMAGE: KindTraits = {
  answers: 'files',
  recovery: 'none',
  inputs: 'bytes',
  poll: { firstMs: 0, everyMs: 0 },
  range: { ...ANY_RANGE, tiers: ['1K', '2K'], aspectRatios: IMAGE_RATIOS, transparency: false, pixels: 'own' },
};

/** The model's name is in the name of an operation. */
const OPERATION = /\/publishers\/google\/models\/([\w.@-]+)\/operations\/[\w-]+$/;
/** Without a bucket, the video is in the answer. */
const MAX_ANSWER_BYTES = 128 * 2 ** 20;
/** Google's own failure to make the sound, which it reports among the reasons of safety filters. */
const AUDIO_FAILURE = /issue with the audio/i;

export const vertex: MediaAdapter = {
  kinds: { image: IMAGE, video: VIDEO },
  baseUrl: null,
  addresses: { storage: { url: STORAGE, versionPath: 'storage/v1' } },
  authorization: bearer,
  auth: ['google'],
  retiredModels: RETIRED_VERTEX_MODELS,

  submission(request) {
    const [action, body] =
      request.kind === 'image' ? ['predict', imageOf(request)] : ['predictLongRunning', videoOf(request)];
    const path = `${MODELS}/${encodeURIComponent(request.model)}:${action}`;
    return { path, body: { json: mergeParams(body, request.params) } };
  },

  accepted({ document }, { kind }) {
    const answer = objectOf(document);
    if (kind === 'image') return { files: imagesIn(answer) };
    const name = textOf(answer['name'], 'operation');
    if (!OPERATION.test(name)) throw new OutcomeUnknownError('the upstream named no valid operation');
    return { jobId: name };
  },

  refusal: googleRefusal,

  async status(jobId, http, signal) {
    const [, model] = OPERATION.exec(jobId) ?? [];
    if (model === undefined) throw new ProviderUnreachableError(`${jobId} is not an operation`);
    const path = `${MODELS}/${model}:fetchPredictOperation`;
    const call = { path, body: { json: { operationName: jobId } }, maxResponseBytes: MAX_ANSWER_BYTES };
    const answer = await http.send(call, signal);
    if (isMissing(answer)) return { state: 'unknown' };
    return stateOf(objectOf(documentOf(answer)), http.addresses['storage'] ?? new URL(`${STORAGE}/`));
  },
};

function videoOf(request: RenderRequest): JsonObject {
  const { prompt, durationSeconds, aspectRatio, resolution } = request;
  const word = resolution === undefined ? {} : { resolution: requireVendorResolution(RESOLUTIONS, resolution) };
  return {
    instances: [{ prompt, ...framesOf(request) }],
    parameters: { sampleCount: 1, durationSeconds, aspectRatio, ...word },
  };
}

/** @throws JobRefusedError for inputs that the vendor has no field for */
function framesOf(request: RenderRequest): JsonObject {
  const { images: links = [], imagesAs, referenceVideos = [], referenceAudios = [] } = request;
  if (referenceVideos.length > 0 || referenceAudios.length > 0) {
    throw new JobRefusedError('bad_request', 'The model takes neither reference videos nor audios.');
  }
  const images = inlineInputs(links, request).map(({ mimeType, data }) => ({ bytesBase64Encoded: data, mimeType }));
  if (imagesAs === 'references') {
    return images.length === 0 ? {} : { referenceImages: images.map((image) => ({ image, referenceType: 'asset' })) };
  }
  const most = imagesAs === 'first_and_last_frame' ? 2 : 1;
  if (links.length > most) throw new JobRefusedError('bad_request', `The model takes at most ${most} images.`);
  const [image, lastFrame] = images;
  return { ...(image && { image }), ...(lastFrame && { lastFrame }) };
}

function imageOf({ prompt, images = [], width = 1024, height = 1024 }: RenderRequest): JsonObject {
  if (images.length > 0) throw new JobRefusedError('bad_request', 'The model takes no images.');
  const size = { width, height };
  return {
    instances: [{ prompt }],
    parameters: { sampleCount: 1, aspectRatio: ratioFor(size, IMAGE_RATIOS), sampleImageSize: imageTierOf(size) },
  };
}

/** @throws SubmissionError if Google filtered the image, or answered with something else */
function imagesIn({ predictions }: JsonObject): readonly ResultFile[] {
  // Without a prediction and without a reason, Google filtered the image, too.
  const items = listOf(predictions).map(objectOf);
  const files = items.flatMap((item) => filesAt(item, new URL(`${STORAGE}/`)));
  if (files.length > 0) return files;
  if (items.some(({ raiFilteredReason }) => raiFilteredReason !== undefined) || Array.isArray(predictions)) {
    throw new JobRefusedError('content_policy_violation');
  }
  throw new OutcomeUnknownError('the upstream answered without predictions');
}

function stateOf({ name, done, error, response }: JsonObject, storage: URL): JobState {
  // An operation in progress has a name, and no word for its state.
  if (done !== true) return typeof name === 'string' ? running(null) : unfinished(done, []);
  if (isObject(error)) {
    const { code, message } = error;
    return failed(jobVerdictFor(safetyIn(message) ?? googleNumbers.meaningOf(code)), undefined, { detail: message });
  }
  const { videos, raiMediaFilteredReasons: reasons, raiMediaFilteredCount: count } = objectOf(response);
  const results = listOf(videos).flatMap((video) => filesAt(objectOf(video), storage));
  if (results.length > 0) return { state: 'succeeded', results };
  const [reason] = listOf(reasons);
  if (AUDIO_FAILURE.test(String(reason))) return failed('processing_failed', reason);
  const isFiltered = reason !== undefined || Number(count) > 0;
  return isFiltered ? failed('content_policy_violation', reason) : { state: 'succeeded', results };
}

/** A file in the answer, or an object in Cloud Storage, which is read with the same credential. */
function filesAt({ gcsUri, bytesBase64Encoded: data, mimeType }: JsonObject, storage: URL): readonly ResultFile[] {
  const [, bucket, object] = /^gs:\/\/([a-z0-9._-]+)\/(.+)$/.exec(String(gcsUri)) ?? [];
  if (bucket === undefined || object === undefined) return fileOf(data, mimeType);
  const url = new URL(`storage/v1/b/${bucket}/o/${encodeURIComponent(object)}?alt=media`, storage);
  return [{ url: url.href, mimeType: typeof mimeType === 'string' ? mimeType : null }];
}
