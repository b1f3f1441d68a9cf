/**
 * Black Forest Labs' FLUX 3 Video (docs/vendors/bfl.md;
 * https://docs.bfl.ai/api-reference/utility/generate-a-video-with-flux-3; the client in vercel/ai
 * `packages/black-forest-labs`). A task is read at the address in the answer to its submission, on the host of its
 * region: a job id is that address. A callback names no address, so Genway uses none.
 */
import { parseUrl } from '../../../domain/parse-url.ts';
import { isObject, type JsonObject, listOf, objectOf } from '../../../domain/json.ts';
import type { JobState, KindTraits, MediaAdapter, RenderRequest } from '../adapter.ts';
import { keyHeader } from '../credentials.ts';
import { documentOf } from '../exchange.ts';
import { failed, running, unfinished } from '../job-state.ts';
import { costIn, mergeParams } from '../json.ts';
import { JobRefusedError, OutcomeUnknownError, type SubmissionError, textOf } from '../outcomes.ts';
import { ANY_RANGE } from '../range.ts';
import { requireVendorResolution } from '../resolutions.ts';
import { jobVerdictFor, submissionErrorFor } from '../vendor-codes.ts';
import { retryAfterMs, type VendorAnswer } from '../vendor-http.ts';
import { bflStates, bflStatuses } from './bfl-codes.ts';

const VERSION = 'v1';
const RESULT_PATH = `/${VERSION}/get_result`;

const RESOLUTIONS = { '720p': 'hd', '1080p': 'fhd' };
const VIDEO: KindTraits = {
  answers: 'job',
  recovery: 'none',
  inputs: 'links',
  poll: { firstMs: 5_000, everyMs: 10_000 },
  resolutions: RESOLUTIONS,
  range: {
    ...ANY_RANGE,
    aspectRatios: ['21:9', '2:1', '16:9', '4:3', '1:1', '3:4', '9:16'],
    seconds: { min: 5, max: 20 },
    pixels: 'own',
  },
};

const READY = 'Ready';
const MISSING = 'Task not found';
const UNFINISHED: readonly unknown[] = ['Pending', 'Queued', 'Processing', 'Reviewing', 'Generating'];

export const bfl: MediaAdapter = {
  kinds: { video: VIDEO },
  baseUrl: 'https://api.bfl.ai',
  versionPath: VERSION,
  // A region has a host of its own, such as `api.us1.bfl.ai`.
  ownHosts: /(^|\.)bfl\.ai$/,
  authorization: keyHeader('x-key'),
  probe: { path: `${VERSION}/credits` },

  submission(request) {
    const body = mergeParams(videoOf(request), request.params);
    return { path: `${VERSION}/${encodeURIComponent(request.model)}`, body: { json: body } };
  },

  accepted({ document }) {
    const { id, polling_url: address } = objectOf(document);
    return { jobId: jobIdOf(textOf(id, 'task id'), textOf(address, 'polling address')) };
  },

  refusal,

  async status(jobId, http, signal) {
    const answer = await http.send({ path: jobId }, signal);
    const document = objectOf(answer.document);
    if (document['status'] === MISSING || (answer.status === 404 && isObject(answer.document))) {
      return { state: 'unknown' };
    }
    return stateOf(objectOf(documentOf(answer)));
  },
};

/** The address of the task, with its id. @throws OutcomeUnknownError for an address of another kind */
function jobIdOf(id: string, address: string): string {
  const url = parseUrl(address);
  if (!url?.pathname.endsWith(RESULT_PATH)) throw new OutcomeUnknownError('the upstream sent no valid polling address');
  url.searchParams.set('id', id);
  return url.href;
}

/** @throws JobRefusedError for inputs that the vendor has no field for */
function videoOf(request: RenderRequest): JsonObject {
  const { prompt, durationSeconds, aspectRatio, resolution = '720p' } = request;
  const [mode, inputs] = inputsOf(request);
  return {
    mode,
    prompt,
    ...inputs,
    // A video that starts from a picture or another video has its shape.
    ...(aspectRatio !== undefined && mode === 't2v' && { aspect_ratio: aspectRatio }),
    ...(durationSeconds !== undefined && { duration: durationSeconds }),
    resolution: requireVendorResolution(RESOLUTIONS, resolution),
  };
}

function inputsOf(request: RenderRequest): readonly [mode: string, fields: JsonObject] {
  const { images = [], imagesAs, referenceVideos = [], referenceAudios = [] } = request;
  const [startVideo, ...otherVideos] = referenceVideos;
  const most = imagesAs === 'first_and_last_frame' ? 2 : 1;
  if (referenceAudios.length > 0) throw refused('no reference audios');
  if (imagesAs === 'references' && images.length > 0) throw refused('no reference images, only frames');
  if (images.length > most) throw refused(`at most ${most} images`);
  if (otherVideos.length > 0) throw refused('at most one video, which it continues');
  if (startVideo !== undefined && images.length > 0) throw refused('either images or a video');
  if (startVideo !== undefined) return ['v2v', { start_video: startVideo }];
  return images.length > 0 ? ['i2v', { keyframes: images }] : ['t2v', {}];
}

function refused(what: string): JobRefusedError {
  return new JobRefusedError('bad_request', `The model takes ${what}.`);
}

function stateOf(task: JsonObject): JobState {
  const { status, progress, result, cost: credits } = task;
  const cost = costIn(credits, 'credits');
  if (status === READY) {
    const { sample } = objectOf(result);
    return {
      state: 'succeeded',
      results: typeof sample === 'string' ? [{ url: sample, mimeType: 'video/mp4' }] : [],
      ...cost,
    };
  }
  const means = typeof status === 'string' ? bflStates.meaningOf(status) : null;
  if (means !== null) return failed(jobVerdictFor(means), undefined, cost);
  // The progress is a fraction.
  const percent = typeof progress === 'number' ? Math.round(progress * 100) : progress;
  return UNFINISHED.includes(status) ? running(status, percent) : unfinished(status, UNFINISHED, percent);
}

function refusal(answer: VendorAnswer): SubmissionError | null {
  const means = bflStatuses.meaningOf(answer.status);
  if (!isObject(answer.document) || means === null) return null;
  const vendorMessage = detailIn(answer.document);
  const isModerated = means === 'bad_request' && /moderat/i.test(vendorMessage);
  return submissionErrorFor(isModerated ? 'content_policy_violation' : means, {
    operatorMessage: `the upstream answered ${answer.status}: ${vendorMessage}`,
    vendorMessage,
    retryAfterMs: retryAfterMs(answer),
  });
}

/** Errors of validation are a list, each with the field and a message. */
function detailIn({ detail, message }: JsonObject): string {
  if (typeof detail === 'string') return detail;
  const entries = listOf(detail).filter(isObject);
  const texts = entries.map(({ loc, msg }) => `${String(listOf(loc).at(-1))}: ${String(msg)}`);
  return texts.length > 0 ? texts.join('; ') : typeof message === 'string' ? message : '';
}
