/**
 * Gemini Omni's videos by Google's Interactions API (https://ai.google.dev/gemini-api/docs/omni,
 * https://ai.google.dev/api/interactions-api; `@google/genai` 2.32, `src/gaos/models/interactions`). A background
 * interaction is a job to poll. Google has no list of interactions.
 */
import { parseUrl } from '../../../domain/parse-url.ts';
import { isObject, type JsonObject, listOf, objectOf } from '../../../domain/json.ts';
import type { VendorCost } from '../../../domain/media-route.ts';
import type { JobState, KindTraits, RenderRequest } from '../adapter.ts';
import { documentOf, assertCancelled, isMissing } from '../exchange.ts';
import { failed, unfinished } from '../job-state.ts';
import { costIn, endIn, mergeParams, valueIn } from '../json.ts';
import { JobRefusedError, textOf } from '../outcomes.ts';
import { ANY_RANGE } from '../range.ts';
import { requireVendorResolution } from '../resolutions.ts';
import type { ResultFile } from '../result-file.ts';
import { type CodeMeaning, jobVerdictFor } from '../vendor-codes.ts';
import type { VendorAnswer, VendorCall, VendorHttp } from '../vendor-http.ts';
import { fileOf, inlineInputs, safetyIn } from './google-answers.ts';
import { googleNumbers, interactionCodes } from './google-codes.ts';

const INTERACTIONS = 'v1beta/interactions';

const RESOLUTIONS = { '360p': '360p', '720p': '720p', '1080p': '1080p', '4k': '4k' };
export const OMNI_VIDEO: KindTraits = {
  answers: 'job',
  recovery: 'callback',
  inputs: 'bytes',
  poll: { firstMs: 10_000, everyMs: 15_000 },
  resolutions: RESOLUTIONS,
  range: { ...ANY_RANGE, aspectRatios: ['16:9', '9:16'], seconds: { min: 3, max: 15 } },
};

const UNFINISHED: readonly unknown[] = ['queued', 'in_progress'];
/** The words for interactions that ended without a result, and their meaning if no error has a code. */
const ENDS: Readonly<Record<string, CodeMeaning>> = {
  failed: 'failed',
  cancelled: 'failed',
  incomplete: 'failed',
  requires_action: 'failed',
  budget_exceeded: 'operator',
};
/** Google may answer with the video in base64 although the request asks for a link. */
const MAX_ANSWER_BYTES = 128 * 2 ** 20;
const UNKNOWN_INTERACTION = /Invalid interaction name/i;
/** With these statuses, a cancellation reports that the interaction has ended or does not exist. */
const ENDED_STATUSES: readonly number[] = [400, 404, 409];

export function submissionOf(request: RenderRequest): VendorCall {
  const { model, taskId, callbackUrl, durationSeconds, aspectRatio: aspect_ratio, resolution } = request;
  const task = taskOf(request);
  const body = {
    model,
    input: inputOf(request),
    response_format: {
      type: 'video',
      delivery: 'uri',
      aspect_ratio,
      ...(durationSeconds !== undefined && { duration: `${durationSeconds}s` }),
      ...(resolution !== undefined && { resolution: requireVendorResolution(RESOLUTIONS, resolution) }),
    },
    background: true,
    // Google keeps no background interaction otherwise.
    store: true,
    ...(task !== null && { generation_config: { video_config: { task } } }),
    ...(callbackUrl !== undefined && { webhook_config: { uris: [callbackUrl], user_metadata: { task: taskId } } }),
  };
  return { path: INTERACTIONS, body: { json: mergeParams(body, request.params) } };
}

/** @throws OutcomeUnknownError */
export function jobIn({ document }: VendorAnswer): string {
  return textOf(objectOf(document)['id'], 'interaction id');
}

/** @throws ProviderUnreachableError */
export async function stateOfInteraction(id: string, http: VendorHttp, signal: AbortSignal): Promise<JobState> {
  const answer = await http.send({ path: pathOf(id), maxResponseBytes: MAX_ANSWER_BYTES }, signal);
  const { message } = objectOf(objectOf(answer.document)['error']);
  if (isMissing(answer) || (answer.status === 400 && UNKNOWN_INTERACTION.test(String(message)))) {
    return { state: 'unknown' };
  }
  return stateOf(objectOf(documentOf(answer)));
}

export async function cancelInteraction(id: string, http: VendorHttp, signal: AbortSignal): Promise<void> {
  const call = { path: `${pathOf(id)}/cancel`, body: { json: {} } };
  assertCancelled(await http.send(call, signal), ENDED_STATUSES);
}

function pathOf(id: string): string {
  return `${INTERACTIONS}/${encodeURIComponent(id)}`;
}

/** The images and videos, then the text. @throws JobRefusedError for inputs that the vendor has no field for */
function inputOf(request: RenderRequest): readonly JsonObject[] {
  const { prompt, images = [], imagesAs, referenceVideos = [], referenceAudios = [] } = request;
  if (referenceAudios.length > 0) throw new JobRefusedError('bad_request', 'The model takes no reference audios.');
  const most = imagesAs === 'first_and_last_frame' ? 2 : 1;
  if (imagesAs !== 'references' && images.length > most) {
    throw new JobRefusedError('bad_request', `The model takes at most ${most} images.`);
  }
  const partsOf = (type: string, links: readonly string[]): readonly JsonObject[] =>
    inlineInputs(links, request).map(({ mimeType, data }) => ({ type, data, mime_type: mimeType }));
  return [...partsOf('image', images), ...partsOf('video', referenceVideos), { type: 'text', text: prompt }];
}

/** The sort of generation; null for two frames, which Google recognises by their number. */
function taskOf({ images = [], imagesAs, referenceVideos = [] }: RenderRequest): string | null {
  if (referenceVideos.length > 0) return 'reference_to_video';
  if (images.length === 0) return 'text_to_video';
  if (imagesAs === 'references') return 'reference_to_video';
  return images.length === 1 ? 'image_to_video' : null;
}

function stateOf(interaction: JsonObject): JobState {
  const { status, updated: endedAt } = interaction;
  const facts = { ...costOf(interaction), ...endIn(endedAt) };
  if (status === 'completed') return resultIn(interaction, facts);
  const usual = valueIn(ENDS, status);
  if (usual === undefined) return unfinished(status, UNFINISHED);
  return failed(jobVerdictFor(meaningIn(interaction) ?? usual), undefined, facts);
}

/** A refused prompt completes with the model's explanation instead of a video. */
function resultIn(interaction: JsonObject, facts: object): JobState {
  const outputs = outputsOf(interaction);
  const results = [...outputs, objectOf(interaction['output_video'])].flatMap(videoIn).slice(0, 1);
  if (results.length > 0) return { state: 'succeeded', results, ...facts };
  const error = meaningIn(interaction);
  if (error !== null) return failed(jobVerdictFor(error), undefined, facts);
  const isExplained = outputs.some(({ type, text }) => type === 'text' && text !== '');
  return isExplained ? failed('content_policy_violation', undefined, facts) : { state: 'succeeded', results, ...facts };
}

function outputsOf({ steps }: JsonObject): readonly JsonObject[] {
  const output = listOf(steps)
    .map(objectOf)
    .filter(({ type }) => type === 'model_output');
  return output.flatMap(({ content }) => listOf(content).map(objectOf));
}

function videoIn({ type, uri, data, mime_type: mimeType = 'video/mp4' }: JsonObject): readonly ResultFile[] {
  if (type !== 'video') return [];
  if (typeof uri === 'string') return [{ url: mediaAt(uri), mimeType: 'video/mp4' }];
  return fileOf(data, mimeType);
}

/** Without `alt=media`, Google answers with a description of the file. */
function mediaAt(uri: string): string {
  const url = parseUrl(uri);
  if (url === null || url.searchParams.has('alt')) return uri;
  url.searchParams.set('alt', 'media');
  return url.href;
}

/** The meaning of the errors of an interaction and of its steps; null if there is none with a known code. */
function meaningIn({ error, errors, steps }: JsonObject): CodeMeaning | null {
  const inSteps = listOf(steps).map((step) => objectOf(step)['error']);
  for (const one of [error, ...listOf(errors), ...inSteps].filter(isObject)) {
    const { code, message } = one;
    const means = safetyIn(message) ?? interactionCodes.meaningOf(code) ?? googleNumbers.meaningOf(code);
    if (means !== null) return means;
  }
  return null;
}

/** Google charges for the tokens of the video. */
function costOf({ usage }: JsonObject): { readonly cost?: VendorCost } {
  const video = listOf(objectOf(usage)['output_tokens_by_modality'])
    .map(objectOf)
    .find(({ modality }) => String(modality).toLowerCase() === 'video');
  return costIn(video?.['tokens'], 'output_tokens');
}
