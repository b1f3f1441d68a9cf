/**
 * Google's Gemini API (docs/vendors/google.md; `@google/genai` 2.32): Veo's videos are operations to wait for, Gemini's images come in
 * the answer. Neither can be listed. If a video was filtered, its operation is done and has no video.
 */
import type { TaskErrorCode } from '../../../domain/errors.ts';
import { imageTierOf } from '../../../domain/image-size.ts';
import { isObject, type JsonObject } from '../../../domain/json.ts';
import type { VendorCost } from '../../../domain/media-route.ts';
import type { JobState, KindTraits, MediaAdapter, RenderRequest } from '../adapter.ts';
import { assertRecent, type CallbackFormat, headerOf, parseCallbackBody } from '../callbacks.ts';
import { keyHeader } from '../credentials.ts';
import { documentOf } from '../exchange.ts';
import { nearestRatio } from '../fields.ts';
import { costIn, listOf, lookUp, objectOf, withParams } from '../json.ts';
import { JobRefusedError, NotTakenError, OutcomeUnknownError, type SubmissionError, textOf } from '../outcomes.ts';
import { requiredWordFor } from '../resolutions.ts';
import type { ResultFile } from '../result-file.ts';
import { claimsOf } from '../signatures/json-web-token.ts';
import { retryAfterMs, type VendorAnswer } from '../vendor-http.ts';
import { messageFor } from '../words.ts';

const VERSION = 'v1beta';

const RESOLUTIONS = { '720p': '720p', '1080p': '1080p', '4k': '4k' };
const VIDEO: KindTraits = {
  answers: 'job',
  recovery: 'callback',
  inputs: 'bytes',
  poll: { firstMs: 10_000, everyMs: 15_000 },
  resolutions: RESOLUTIONS,
};
const IMAGE: KindTraits = { answers: 'files', recovery: 'none', inputs: 'bytes', poll: { firstMs: 0, everyMs: 0 } };

const RATIOS = ['1:1', '2:3', '3:2', '3:4', '4:3', '4:5', '5:4', '9:16', '16:9', '21:9'] as const;
/** How far a size may be from the nearest ratio: beyond that, the operator would pay for something that nobody asked for. */
const RATIO_TOLERANCE = 0.03;
const OPERATION = /^(models\/[\w.-]+\/)?operations\/[\w-]+$/;
/** Statuses that are verdicts on a request; 413 means that the body is too large. */
const VERDICT_STATUSES: readonly number[] = [400, 413];
/** Words about safety, for messages without a field that says so. */
const SAFETY_WORDS = /safety|polic|prohibited|responsible ai|sensitive|violat/i;
/** Reasons about safety for which there is no image. */
const SAFETY_REASONS = /SAFETY|PROHIBITED|BLOCKLIST|SPII|RECITATION|JAILBREAK|MODEL_ARMOR/;

/** gRPC codes of failed operations; all others are failures of the render. */
const GRPC_VERDICTS: Readonly<Record<number, TaskErrorCode>> = {
  3: 'bad_request',
  7: 'processing_unavailable',
  8: 'processing_unavailable',
  16: 'processing_unavailable',
};

/** `v1a,` and the like before each signature, as in Standard Webhooks. */
const SIGNATURE_VERSION = /^v\d\w*,/;

/**
 * The token proves that Google sent the announcement, but is not known to cover the body, and its audience is not
 * documented. The address proves what the token does not: for which task.
 */
const callbacks: CallbackFormat = {
  proof: 'address',
  keysUrl: 'https://generativelanguage.googleapis.com/.well-known/jwks.json',
  async read({ headers, rawBody }, { keys, nowMs }) {
    assertRecent(headerOf(headers, 'webhook-timestamp'), nowMs);
    await claimsOf(headerOf(headers, 'webhook-signature').replace(SIGNATURE_VERSION, ''), keys, nowMs);
    const { id } = objectOf(objectOf(parseCallbackBody(rawBody))['data']);
    return { jobId: typeof id === 'string' && OPERATION.test(id) ? id : null };
  },
};

export const google: MediaAdapter = {
  kinds: { image: IMAGE, video: VIDEO },
  baseUrl: 'https://generativelanguage.googleapis.com',
  versionPath: VERSION,
  authorization: keyHeader('x-goog-api-key'),
  probe: { path: `${VERSION}/models`, query: { pageSize: 1 } },
  callbacks,

  submission(request) {
    const isImage = request.kind === 'image';
    const action = isImage ? 'generateContent' : 'predictLongRunning';
    const body = withParams(isImage ? imageOf(request) : videoOf(request), request.params);
    return { path: `${VERSION}/models/${encodeURIComponent(request.model)}:${action}`, body: { json: body } };
  },

  accepted({ document }, { kind }) {
    const answer = objectOf(document);
    if (kind === 'image') return imagesOf(answer);
    const name = textOf(answer['name'], 'operation');
    if (!OPERATION.test(name)) throw new OutcomeUnknownError('the upstream named no valid operation');
    return { jobId: name };
  },

  refusal,

  async status(jobId, http, signal) {
    const answer = await http.ask({ path: `${VERSION}/${jobId}` }, signal);
    if (answer.status === 404 && isObject(answer.document)) return { state: 'unknown' };
    return stateOf(objectOf(documentOf(answer)));
  },
};

function videoOf(request: RenderRequest): JsonObject {
  const { prompt, taskId, durationSeconds, aspectRatio, resolution, callbackUrl } = request;
  const word = resolution === undefined ? {} : { resolution: requiredWordFor(RESOLUTIONS, resolution) };
  return {
    instances: [{ prompt, ...framesOf(request) }],
    parameters: { sampleCount: 1, durationSeconds, aspectRatio, ...word },
    ...(callbackUrl !== undefined && { webhookConfig: { uris: [callbackUrl], userMetadata: { task: taskId } } }),
  };
}

/** @throws JobRefusedError for inputs that the vendor has no field for */
function framesOf(request: RenderRequest): JsonObject {
  const { imagesAs, referenceVideos = [], referenceAudios = [] } = request;
  if (referenceVideos.length > 0 || referenceAudios.length > 0) {
    throw new JobRefusedError('bad_request', 'The model takes neither reference videos nor audios.');
  }
  const images = inputsOf(request).map(({ mimeType, data }) => ({ bytesBase64Encoded: data, mimeType }));
  if (imagesAs === 'references') {
    if (images.length === 0) return {};
    return { referenceImages: images.map((image) => ({ image, referenceType: 'asset' })) };
  }
  const most = imagesAs === 'first_and_last_frame' ? 2 : 1;
  if (images.length > most) throw new JobRefusedError('bad_request', `The model takes at most ${most} images.`);
  const [image, lastFrame] = images;
  return { ...(image && { image }), ...(lastFrame && { lastFrame }) };
}

function imageOf(request: RenderRequest): JsonObject {
  const { prompt, width = 1024, height = 1024, background } = request;
  if (background === 'transparent')
    throw new JobRefusedError('bad_request', 'The model has no transparent background.');
  const tier = imageTierOf({ width, height });
  // The smallest is the default, and some models have no other.
  const imageConfig = { aspectRatio: ratioOf({ width, height }), ...(tier !== '1K' && { imageSize: tier }) };
  return {
    contents: [{ role: 'user', parts: [{ text: prompt }, ...inputsOf(request).map((inlineData) => ({ inlineData }))] }],
    generationConfig: { responseModalities: ['IMAGE'], imageConfig },
  };
}

function inputsOf({ images = [], files }: RenderRequest): readonly { mimeType: string; data: string }[] {
  return images.flatMap((link) => {
    const file = files.get(link);
    return file ? [{ mimeType: file.mimeType, data: Buffer.from(file.bytes).toString('base64') }] : [];
  });
}

/** @throws JobRefusedError for a shape that there is no ratio for */
function ratioOf(size: { readonly width: number; readonly height: number }): string {
  const ratio = nearestRatio(size, RATIOS);
  const [across = 1, down = 1] = ratio.split(':').map(Number);
  if (Math.abs((size.width * down) / (size.height * across) - 1) > RATIO_TOLERANCE) {
    throw new JobRefusedError('bad_request', `The model renders these aspect ratios: ${RATIOS.join(', ')}.`);
  }
  return ratio;
}

/** @throws SubmissionError for an answer that holds none */
function imagesOf(answer: JsonObject): { readonly files: readonly ResultFile[]; readonly cost?: VendorCost } {
  const candidates = listOf(answer['candidates']).map(objectOf);
  const parts = candidates.flatMap(({ content }) => listOf(objectOf(content)['parts']).map(objectOf));
  // Thoughts may contain drafts.
  const files = parts.filter(({ thought }) => thought !== true).flatMap((part) => fileOf(objectOf(part['inlineData'])));
  if (files.length > 0) return { files, ...costOf(answer) };
  const reason = objectOf(answer['promptFeedback'])['blockReason'] ?? candidates[0]?.['finishReason'];
  if (typeof reason !== 'string') throw new OutcomeUnknownError('the upstream answered without an image');
  throw new JobRefusedError(SAFETY_REASONS.test(reason) ? 'content_policy_violation' : 'processing_failed');
}

function fileOf({ data, mimeType }: JsonObject): readonly ResultFile[] {
  if (typeof data !== 'string') return [];
  return [{ bytes: Buffer.from(data, 'base64'), mimeType: typeof mimeType === 'string' ? mimeType : null }];
}

/** The price of an image is mostly that of its output tokens. */
function costOf({ usageMetadata }: JsonObject): { readonly cost?: VendorCost } {
  return costIn(objectOf(usageMetadata)['candidatesTokenCount'], 'output_tokens');
}

function stateOf({ done, error, response }: JsonObject): JobState {
  if (done !== true) return { state: 'running', progressPercent: null, detail: null };
  if (isObject(error)) {
    const { code, message } = error;
    const verdict = SAFETY_WORDS.test(String(message))
      ? 'content_policy_violation'
      : (lookUp(GRPC_VERDICTS, code) ?? 'processing_failed');
    return failed(verdict);
  }
  const { generatedSamples, raiMediaFilteredReasons: reasons } = objectOf(objectOf(response)['generateVideoResponse']);
  const videos = listOf(generatedSamples).map((sample) => objectOf(objectOf(sample)['video']));
  const results = videos.flatMap(({ uri, encodedVideo }): ResultFile[] => {
    if (typeof uri === 'string') return [{ url: uri, mimeType: 'video/mp4' }];
    return fileOf({ data: encodedVideo, mimeType: 'video/mp4' }).slice();
  });
  if (results.length > 0) return { state: 'succeeded', results };
  return listOf(reasons).length > 0
    ? failed('content_policy_violation', listOf(reasons)[0])
    : failed('processing_failed');
}

function failed(code: TaskErrorCode, words?: unknown): JobState {
  return { state: 'failed', code, message: messageFor(code, words) };
}

/** The message may name the operator's project, and is not passed on. */
function refusal(answer: VendorAnswer): SubmissionError | null {
  const { status, message, details } = objectOf(objectOf(answer.document)['error']);
  const facts = listOf(details).map(objectOf);
  if (answer.status === 429) {
    return new NotTakenError('too many requests, or no quota', { retryAfterMs: retryAfterMs(answer) });
  }
  if (!VERDICT_STATUSES.includes(answer.status)) return null;
  // Google reports a wrong key and an account without billing as bad requests.
  if (status === 'FAILED_PRECONDITION' || facts.some(({ reason }) => String(reason).startsWith('API_KEY_'))) {
    return new NotTakenError(`the upstream said ${String(status)}`, { leavesRoute: true });
  }
  return new JobRefusedError(SAFETY_WORDS.test(String(message)) ? 'content_policy_violation' : 'bad_request');
}
