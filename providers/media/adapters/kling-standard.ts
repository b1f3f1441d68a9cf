/**
 * Kling's standard API of 2026: one address per model, and one address to read any task. The API renders videos, and
 * requires a single key. https://kling.ai/document-api/api/video/2-6/text-to-video
 */
import { formatUsd, parseUsd } from '../../../domain/money.ts';
import { type JsonObject, listOf, objectOf } from '../../../domain/json.ts';
import type { VendorCost } from '../../../domain/media-route.ts';
import type { JobState, RenderRequest } from '../adapter.ts';
import { unfinished } from '../job-state.ts';
import { endIn, PLAIN_AMOUNT, mergeParams } from '../json.ts';
import { ProviderUnreachableError, textOf } from '../outcomes.ts';
import { requireVendorResolution } from '../resolutions.ts';
import type { VendorAnswer, VendorCall, VendorHttp } from '../vendor-http.ts';
import {
  acceptedData,
  failedFor,
  filesAt,
  framesOf,
  tooMuch,
  UNFINISHED,
  unreadable,
  withDefined,
} from './kling-answers.ts';

/** The path of tasks, and the first part of their job ids in Genway. */
export const TASKS = 'tasks';

/** The vendor's names of resolutions. */
export const RESOLUTIONS = { '720p': '720p', '1080p': '1080p', '2k': '2k', '4k': '4k' };

/** Kling 4.0 accepts so many; Kling refuses more than one for older models. */
const MAX_REFERENCE_VIDEOS = 5;

export function submissionOf(request: RenderRequest): VendorCall {
  const { callbackUrl: callback_url, taskId: external_task_id, model } = request;
  const [family, content] = contentOf(request);
  const body = {
    ...content,
    settings: settingsOf(request),
    options: withDefined({ external_task_id, callback_url }),
  };
  return { path: `${family}/${encodeURIComponent(model)}`, body: { json: mergeParams(body, request.params) } };
}

/** @throws SubmissionError */
export function jobIn(answer: VendorAnswer): string {
  return jobIdOf(objectOf(acceptedData(answer)));
}

/** The tasks with our id. @throws ProviderUnreachableError */
export async function findJobs(
  { taskId }: RenderRequest,
  http: VendorHttp,
  signal: AbortSignal,
): Promise<readonly string[]> {
  return (await readTasks({ external_task_ids: taskId }, http, signal)).map(jobIdOf);
}

/** @throws ProviderUnreachableError */
export async function stateOfTask(id: string, http: VendorHttp, signal: AbortSignal): Promise<JobState> {
  const task = (await readTasks({ task_ids: id }, http, signal)).find((one) => one['id'] === id);
  if (!task) return { state: 'unknown' };
  const { status, message, outputs } = task;
  const facts = { ...costOf(task), ...endIn(task['update_time']) };
  if (status === 'failed') return failedFor(message, facts);
  if (status === 'succeeded') return { state: 'succeeded', results: filesAt(listOf(outputs)), ...facts };
  return unfinished(status, UNFINISHED);
}

export function jobIdOf({ id }: JsonObject): string {
  return `${TASKS}|${textOf(id, 'task id')}`;
}

/** The model's family, which starts the path, and the prompt in the family's form. @throws JobRefusedError */
function contentOf(request: RenderRequest): readonly [family: string, content: JsonObject] {
  const { prompt, images = [], imagesAs, referenceVideos = [], referenceAudios = [] } = request;
  const text = { type: 'prompt', text: prompt };
  if (referenceAudios.length > 0) throw tooMuch('no reference audios');
  if (imagesAs === 'references') {
    if (referenceVideos.length > MAX_REFERENCE_VIDEOS)
      throw tooMuch(`at most ${MAX_REFERENCE_VIDEOS} reference videos`);
    const references = [
      ...images.map((url) => ({ type: 'refer_image', url })),
      ...referenceVideos.map((url) => ({ type: 'feature_video', url })),
    ];
    return ['omni-video', { contents: [text, ...references] }];
  }
  if (referenceVideos.length > 0) throw tooMuch('no reference videos');
  const frames = framesOf(request).map((url, index) => ({ type: index === 0 ? 'first_frame' : 'last_frame', url }));
  return frames.length === 0 ? ['text-to-video', { prompt }] : ['image-to-video', { contents: [text, ...frames] }];
}

/** A video with a first frame has the shape of the frame. */
function settingsOf({ imagesAs, images = [], resolution = '720p', ...request }: RenderRequest): JsonObject {
  const isFramed = imagesAs !== 'references' && images.length > 0;
  const { aspectRatio, durationSeconds: duration } = request;
  return withDefined({
    resolution: requireVendorResolution(RESOLUTIONS, resolution),
    duration,
    aspect_ratio: isFramed ? undefined : aspectRatio,
  });
}

/** The list is empty for an unknown id. @throws ProviderUnreachableError unless the vendor answers with a list */
async function readTasks(
  query: Readonly<Record<string, string>>,
  http: VendorHttp,
  signal: AbortSignal,
): Promise<readonly JsonObject[]> {
  const answer = await http.send({ path: TASKS, query }, signal);
  const { code, data } = objectOf(answer.document);
  if (code !== 0) throw unreadable(answer);
  if (!Array.isArray(data)) throw new ProviderUnreachableError('the upstream sent no list of tasks');
  return listOf(data).map(objectOf);
}

/** The cost in `units` of a resource pack, or in a currency; none if the vendor mixes them. */
function costOf({ billing }: JsonObject): { readonly cost?: VendorCost } {
  const charges = listOf(billing).map((entry) => {
    const { charge_type: type, amount, currency } = objectOf(entry);
    return { unit: type === 'unit' ? 'units' : String(currency).toLowerCase(), amount: String(amount) };
  });
  const [first, ...others] = charges;
  if (!first || others.some(({ unit }) => unit !== first.unit)) return {};
  if (!charges.every(({ amount }) => PLAIN_AMOUNT.test(amount))) return {};
  const sum = charges.reduce((total, { amount }) => total + parseUsd(amount), 0n);
  return sum === 0n ? {} : { cost: { amount: formatUsd(sum), unit: first.unit } };
}
