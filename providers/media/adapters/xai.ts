/**
 * xAI's Grok Imagine videos (docs/vendors/xai.md; https://docs.x.ai/docs/guides/video-generation; the clients in
 * vercel/ai `packages/xai` and xai-org/xai-sdk-python). xAI has no list, no id of ours, no callbacks and no cancellation.
 * xAI reports the exact charge, also for videos that moderation stopped.
 */
import { type JsonObject, listOf, objectOf } from '../../../domain/json.ts';
import type { VendorCost } from '../../../domain/media-route.ts';
import { formatUsd } from '../../../domain/money.ts';
import type { JobState, KindTraits, MediaAdapter, RenderRequest } from '../adapter.ts';
import { bearer } from '../credentials.ts';
import { documentOf, isMissing } from '../exchange.ts';
import { failed, running, unfinished } from '../job-state.ts';
import { mergeParams } from '../json.ts';
import { JobRefusedError, type SubmissionError, textOf } from '../outcomes.ts';
import { ANY_RANGE } from '../range.ts';
import { requireVendorResolution } from '../resolutions.ts';
import { type CodeMeaning, jobVerdictFor, submissionErrorFor } from '../vendor-codes.ts';
import { retryAfterMs, type VendorAnswer } from '../vendor-http.ts';
import { xaiCodes } from './xai-codes.ts';

const VIDEOS = 'v1/videos';
const MODELS = 'v1/video-generation-models';

const RESOLUTIONS = { '480p': '480p', '720p': '720p', '1080p': '1080p' };
/** With references, xAI renders at most 720p. */
const RESOLUTIONS_OF_REFERENCES = { '480p': '480p', '720p': '720p' };
const VIDEO: KindTraits = {
  answers: 'job',
  recovery: 'none',
  inputs: 'links',
  poll: { firstMs: 5_000, everyMs: 15_000 },
  resolutions: RESOLUTIONS,
  range: {
    ...ANY_RANGE,
    aspectRatios: ['16:9', '9:16', '1:1', '4:3', '3:4', '3:2', '2:3'],
    seconds: { min: 1, max: 15 },
    pixels: 'own',
  },
  isRefusalBilled: true,
};

/** While a video waits or renders, the answer has this status, and sometimes no body. */
const PENDING_STATUS = 202;
const REQUEST_STATUSES: readonly number[] = [400, 413, 422];
/**
 * Recognises what only the operator can change, and what xAI reports like faults of a request: a wrong key, a team whose
 * videos xAI does not keep, and a team without moderation (https://github.com/Wei-Shaw/sub2api/issues/4665).
 */
const OPERATOR_MESSAGE = /API key|Zero Data Retention|moderation feature is not available/i;
const SAFETY_MESSAGE = /moderat|content polic|usage guideline|safety|violat/i;
/** Pico-USD in a tick: a US dollar has 10,000,000,000 ticks. */
const PICO_PER_TICK = 100n;
const MAX_TICKS = 1e14;

export const xai: MediaAdapter = {
  kinds: { video: VIDEO },
  baseUrl: 'https://api.x.ai',
  versionPath: 'v1',
  authorization: bearer,
  probe: { path: MODELS },

  modelsIn(document) {
    const models = listOf(objectOf(document)['models']).map(objectOf);
    const names = models
      .flatMap(({ id, aliases }) => [id, ...listOf(aliases)])
      .filter((name) => typeof name === 'string');
    return names.length === 0 ? null : names;
  },

  submission(request) {
    return { path: `${VIDEOS}/generations`, body: { json: mergeParams(videoOf(request), request.params) } };
  },

  accepted: ({ document }) => ({ jobId: textOf(objectOf(document)['request_id'], 'request id') }),
  refusal,

  async status(jobId, http, signal) {
    const answer = await http.send({ path: `${VIDEOS}/${encodeURIComponent(jobId)}` }, signal);
    if (isMissing(answer)) return { state: 'unknown' };
    if (answer.status === PENDING_STATUS && answer.document === undefined) return running('pending');
    return stateOf(objectOf(documentOf(answer)));
  },
};

/** @throws JobRefusedError for inputs that the vendor has no field for */
function videoOf(request: RenderRequest): JsonObject {
  const { model, prompt, durationSeconds: duration, aspectRatio, resolution, images = [] } = request;
  const hasReferences = request.imagesAs === 'references' && images.length > 0;
  const isFramed = images.length > 0 && !hasReferences;
  const names = hasReferences ? RESOLUTIONS_OF_REFERENCES : RESOLUTIONS;
  return {
    model,
    prompt,
    ...imagesOf(request),
    ...(duration !== undefined && { duration }),
    // A video with a first frame has the shape of the frame.
    ...(aspectRatio !== undefined && !isFramed && { aspect_ratio: aspectRatio }),
    ...(resolution !== undefined && { resolution: requireVendorResolution(names, resolution) }),
  };
}

function imagesOf({ images = [], imagesAs, referenceVideos = [], referenceAudios = [] }: RenderRequest): JsonObject {
  if (referenceVideos.length > 0 || referenceAudios.length > 0) {
    throw new JobRefusedError('bad_request', 'The model takes neither reference videos nor audios.');
  }
  if (imagesAs === 'references') {
    return images.length === 0 ? {} : { reference_images: images.map((url) => ({ url })) };
  }
  if (images.length > 1) throw new JobRefusedError('bad_request', 'The model takes at most one image.');
  const [url] = images;
  return url === undefined ? {} : { image: { url } };
}

function stateOf(answer: JsonObject): JobState {
  const { status, progress, error } = answer;
  const { url, respect_moderation: isPermitted } = objectOf(answer['video']);
  const cost = costOf(answer);
  if (status === 'failed') {
    const { message: detail } = objectOf(error);
    return failed(jobVerdictFor(meaningOf(objectOf(error))), undefined, { ...cost, detail });
  }
  if (status === 'expired') return failed('processing_timeout', undefined, cost);
  if (status !== 'done') return unfinished(status, ['pending'], progress);
  if (isPermitted === false) return failed('content_policy_violation', undefined, cost);
  const results = typeof url === 'string' && url !== '' ? [{ url, mimeType: 'video/mp4' }] : [];
  return { state: 'succeeded', results, ...cost };
}

/** The exact charge in US dollars. */
function costOf({ usage }: JsonObject): { readonly cost?: VendorCost } {
  const ticks = objectOf(usage)['cost_in_usd_ticks'];
  if (!Number.isSafeInteger(ticks) || Number(ticks) <= 0 || Number(ticks) > MAX_TICKS) return {};
  return { cost: { amount: formatUsd(BigInt(Number(ticks)) * PICO_PER_TICK), unit: 'usd' } };
}

/** Moderation has no code of its own. */
function meaningOf({ code, message }: JsonObject): CodeMeaning | null {
  return SAFETY_MESSAGE.test(String(message)) ? 'content_policy_violation' : xaiCodes.meaningOf(code);
}

/** Does not pass on xAI's message, which may name the operator's team. */
function refusal(answer: VendorAnswer): SubmissionError | null {
  const { error } = objectOf(answer.document);
  const message = typeof error === 'string' ? error : objectOf(error)['message'];
  if (typeof message !== 'string') return null;
  const isRequest = REQUEST_STATUSES.includes(answer.status);
  // xAI refuses prompts with 400 or 403.
  const isModerated = (isRequest || answer.status === 403) && SAFETY_MESSAGE.test(message);
  const isOurs = (isRequest || isModerated) && OPERATOR_MESSAGE.test(message);
  const usual = isRequest ? 'bad_request' : null;
  const means = isOurs ? 'operator' : isModerated ? 'content_policy_violation' : usual;
  const operatorMessage = `the upstream answered ${answer.status}`;
  return means && submissionErrorFor(means, { operatorMessage, retryAfterMs: retryAfterMs(answer) });
}
