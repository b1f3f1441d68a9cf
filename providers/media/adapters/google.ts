/**
 * Google's Gemini API (docs/vendors/google.md; `@google/genai` 2.32): Veo's videos are operations to wait for, Gemini's
 * images come in the answer. Neither can be listed. The operation of a filtered video is done and has no video.
 */
import { imageTierOf } from '../../../domain/image-size.ts';
import { isObject, type JsonObject } from '../../../domain/json.ts';
import type { VendorCost } from '../../../domain/media-route.ts';
import type { JobState, KindTraits, MediaAdapter, RenderRequest } from '../adapter.ts';
import { assertRecent, type CallbackFormat, headerOf, parseCallbackBody } from '../callbacks.ts';
import { keyHeader } from '../credentials.ts';
import { RETIRED_GOOGLE_MODELS } from '../retired-models.ts';
import { documentOf, isMissing } from '../exchange.ts';
import { failed, running, unfinished } from '../job-state.ts';
import { costIn, listOf, objectOf, mergeParams } from '../json.ts';
import { JobRefusedError, NotTakenError, OutcomeUnknownError, type SubmissionError, textOf } from '../outcomes.ts';
import { ANY_RANGE, IMAGE_RATIOS, ratioFor } from '../range.ts';
import { requireVendorResolution } from '../resolutions.ts';
import type { ResultFile } from '../result-file.ts';
import { verifyJsonWebToken } from '../signatures/json-web-token.ts';
import { type CodeMeaning, jobVerdictFor, submissionErrorFor } from '../vendor-codes.ts';
import { retryAfterMs, type VendorAnswer } from '../vendor-http.ts';
import { googleNumbers, googleReasons } from './google-codes.ts';

const VERSION = 'v1beta';

const RESOLUTIONS = { '720p': '720p', '1080p': '1080p', '4k': '4k' };
const VIDEO: KindTraits = {
  answers: 'job',
  recovery: 'callback',
  inputs: 'bytes',
  poll: { firstMs: 10_000, everyMs: 15_000 },
  resolutions: RESOLUTIONS,
  range: { ...ANY_RANGE, aspectRatios: ['16:9', '9:16'], seconds: { min: 4, max: 8 } },
};
const IMAGE: KindTraits = {
  answers: 'files',
  recovery: 'none',
  inputs: 'bytes',
  poll: { firstMs: 0, everyMs: 0 },
  range: { ...ANY_RANGE, aspectRatios: IMAGE_RATIOS, transparency: false, pixels: 'own' },
};

const OPERATION = /^(models\/[\w.-]+\/)?operations\/[\w-]+$/;
/** Statuses that are verdicts on a request; 413 means that the body is too large. */
const VERDICT_STATUSES: readonly number[] = [400, 413];
/** Recognises safety refusals in messages, where no field reports them. */
const SAFETY_MESSAGE = /safety|polic|prohibited|responsible ai|sensitive|violat/i;
/** Recognises an expired key, which Google reports without the reason that other invalid keys have. */
const KEY_WORDS = /\bAPI key\b/i;
/** Google's own failure to make the sound, which it reports among the reasons of safety filters. */
const AUDIO_FAILURE = /issue with the audio/i;

/** The version before each signature, such as `v1a,`, as in Standard Webhooks. */
const SIGNATURE_VERSION = /^v\d\w*,/;

/**
 * The token proves that Google sent the announcement. Google documents neither its audience nor whether it covers the
 * body, so the MAC in the address proves for which task the announcement is.
 */
const callbacks: CallbackFormat = {
  proof: 'address',
  keysUrl: 'https://generativelanguage.googleapis.com/.well-known/jwks.json',
  async read({ headers, rawBody }, { keys, nowMs }) {
    assertRecent(headerOf(headers, 'webhook-timestamp'), nowMs);
    await verifyJsonWebToken(headerOf(headers, 'webhook-signature').replace(SIGNATURE_VERSION, ''), keys, nowMs);
    const { id } = objectOf(objectOf(parseCallbackBody(rawBody))['data']);
    return { jobId: typeof id === 'string' && OPERATION.test(id) ? id : null };
  },
};

export const google: MediaAdapter = {
  kinds: { image: IMAGE, video: VIDEO },
  baseUrl: 'https://generativelanguage.googleapis.com',
  versionPath: VERSION,
  authorization: keyHeader('x-goog-api-key'),
  probe: { path: `${VERSION}/models`, query: { pageSize: 1_000 } },
  retiredModels: RETIRED_GOOGLE_MODELS,
  callbacks,

  modelsIn(document) {
    const { models, nextPageToken } = objectOf(document);
    const names = listOf(models).map((model) => String(objectOf(model)['name']).replace('models/', ''));
    return names.length === 0 || nextPageToken !== undefined ? null : names;
  },

  submission(request) {
    const isImage = request.kind === 'image';
    const action = isImage ? 'generateContent' : 'predictLongRunning';
    const body = mergeParams(isImage ? imageOf(request) : videoOf(request), request.params);
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
    const answer = await http.send({ path: `${VERSION}/${jobId}` }, signal);
    if (isMissing(answer)) return { state: 'unknown' };
    return stateOf(objectOf(documentOf(answer)));
  },
};

function videoOf(request: RenderRequest): JsonObject {
  const { prompt, taskId, durationSeconds, aspectRatio, resolution, callbackUrl } = request;
  const word = resolution === undefined ? {} : { resolution: requireVendorResolution(RESOLUTIONS, resolution) };
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
  const { prompt, width = 1024, height = 1024 } = request;
  const tier = imageTierOf({ width, height });
  // The smallest size is the default, and the only one of some models.
  const imageConfig = {
    aspectRatio: ratioFor({ width, height }, IMAGE_RATIOS),
    ...(tier !== '1K' && { imageSize: tier }),
  };
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

/** @throws SubmissionError if the answer says why it has no image; OutcomeUnknownError if it has no candidates */
function imagesOf(answer: JsonObject): { readonly files: readonly ResultFile[]; readonly cost?: VendorCost } {
  const candidates = listOf(answer['candidates']).map(objectOf);
  const parts = candidates.flatMap(({ content }) => listOf(objectOf(content)['parts']).map(objectOf));
  // Thoughts may contain drafts of the image.
  const files = parts.filter(({ thought }) => thought !== true).flatMap((part) => fileOf(objectOf(part['inlineData'])));
  const charged = costOf(answer);
  if (files.length > 0) return { files, ...charged };
  const reason = objectOf(answer['promptFeedback'])['blockReason'] ?? candidates[0]?.['finishReason'];
  if (typeof reason === 'string') {
    const code = jobVerdictFor(googleReasons.meaningOf(reason) ?? safetyIn(reason));
    throw new JobRefusedError(code, undefined, charged.cost);
  }
  if (!Array.isArray(answer['candidates'])) throw new OutcomeUnknownError('the upstream answered without candidates');
  return { files, ...charged };
}

function fileOf({ data, mimeType }: JsonObject): readonly ResultFile[] {
  if (typeof data !== 'string') return [];
  return [{ bytes: Buffer.from(data, 'base64'), mimeType: typeof mimeType === 'string' ? mimeType : null }];
}

/** Counts the tokens of the image if they are reported separately: tokens of accompanying text cost much less. */
function costOf({ usageMetadata }: JsonObject): { readonly cost?: VendorCost } {
  const { candidatesTokensDetails: details, candidatesTokenCount: all } = objectOf(usageMetadata);
  const image = listOf(details)
    .map(objectOf)
    .find(({ modality }) => modality === 'IMAGE');
  return costIn(image?.['tokenCount'] ?? all, 'output_tokens');
}

function stateOf({ name, done, error, response }: JsonObject): JobState {
  // An operation in progress has a name, and no word for its state.
  if (done !== true) return typeof name === 'string' ? running(null) : unfinished(done, []);
  if (isObject(error)) {
    const { code, message } = error;
    return failed(jobVerdictFor(safetyIn(message) ?? googleNumbers.meaningOf(code)));
  }
  // Vertex puts the fields directly into the response.
  const answer = objectOf(response);
  const { generatedSamples, ...filtered } = { ...answer, ...objectOf(answer['generateVideoResponse']) };
  const videos = listOf(generatedSamples).map((sample) => objectOf(objectOf(sample)['video']));
  const results = videos.flatMap(({ uri, encodedVideo }): ResultFile[] => {
    if (typeof uri === 'string') return [{ url: uri, mimeType: 'video/mp4' }];
    return fileOf({ data: encodedVideo, mimeType: 'video/mp4' }).slice();
  });
  if (results.length > 0) return { state: 'succeeded', results };
  return filteredOf(filtered) ?? { state: 'succeeded', results };
}

/** The verdict on an operation whose video was filtered, reported by reasons or only by a count; null for any other. */
function filteredOf({ raiMediaFilteredReasons: reasons, raiMediaFilteredCount: count }: JsonObject): JobState | null {
  const [reason] = listOf(reasons);
  if (AUDIO_FAILURE.test(String(reason))) return failed('processing_failed');
  const isFiltered = reason !== undefined || Number(count) > 0;
  return isFiltered ? failed('content_policy_violation', reason) : null;
}

function safetyIn(vendorMessage: unknown): CodeMeaning | null {
  return SAFETY_MESSAGE.test(String(vendorMessage)) ? 'content_policy_violation' : null;
}

/** Does not pass on Google's message, which may name the operator's project. */
function refusal(answer: VendorAnswer): SubmissionError | null {
  const { status, message, details } = objectOf(objectOf(answer.document)['error']);
  const facts = listOf(details).map(objectOf);
  if (answer.status === 429) {
    return new NotTakenError('the upstream answered 429: too many requests, or the quota is used up', {
      retryAfterMs: retryAfterMs(answer),
    });
  }
  if (!VERDICT_STATUSES.includes(answer.status)) return null;
  // Google reports a wrong key and an account without billing as bad requests.
  const isKey = facts.some(({ reason }) => String(reason).startsWith('API_KEY_')) || KEY_WORDS.test(String(message));
  const usual = status === 'FAILED_PRECONDITION' ? 'operator' : 'bad_request';
  const means = isKey ? 'operator' : (safetyIn(message) ?? usual);
  return submissionErrorFor(means, { operatorMessage: `the upstream answered ${String(status)}` });
}
