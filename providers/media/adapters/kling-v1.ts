/**
 * Kling's first API, below `/v1`: images, and videos of the models up to 2.6. A task is read at the address to which it
 * was submitted, by the vendor's id or by ours.
 */
import { type JsonObject, listOf, objectOf } from '../../../domain/json.ts';
import type { JobState, RenderRequest } from '../adapter.ts';
import { unfinished } from '../job-state.ts';
import { endIn, mergeParams } from '../json.ts';
import { textOf } from '../outcomes.ts';
import { ratioFor } from '../range.ts';
import { requireVendorResolution } from '../resolutions.ts';
import type { VendorAnswer, VendorCall, VendorHttp } from '../vendor-http.ts';
import { imageTierOf } from '../../../domain/image-size.ts';
import {
  acceptedData,
  costOf,
  failedFor,
  filesAt,
  framesOf,
  tooMuch,
  UNFINISHED,
  unreadable,
  withDefined,
} from './kling-answers.ts';
import { NO_SUCH_RESOURCE } from './kling-codes.ts';

/** The path of each sort of task, for submitting and for reading. */
export const PATHS = {
  text2video: 'v1/videos/text2video',
  image2video: 'v1/videos/image2video',
  'multi-image2video': 'v1/videos/multi-image2video',
  images: 'v1/images/generations',
} as const;
type Sort = keyof typeof PATHS;

/** The vendor's modes are its resolutions. */
export const MODES = { '720p': 'std', '1080p': 'pro', '4k': '4k' };

export const IMAGE_RESOLUTIONS: Readonly<Record<string, string>> = { '1K': '1k', '2K': '2k' };
export const IMAGE_SHAPES = ['16:9', '9:16', '1:1', '4:3', '3:4', '3:2', '2:3', '21:9'] as const;

export function submissionOf(request: RenderRequest): VendorCall {
  const { callbackUrl: callback_url, taskId: external_task_id } = request;
  const body = withDefined({ ...fieldsOf(request), external_task_id, callback_url });
  return { path: PATHS[sortOf(request)], body: { json: mergeParams(body, request.params) } };
}

/** @throws SubmissionError */
export function jobIn(answer: VendorAnswer, request: RenderRequest): string {
  return jobIdOf(sortOf(request), objectOf(acceptedData(answer))['task_id']);
}

/** The task with our id. @throws ProviderUnreachableError */
export async function findJobs(
  request: RenderRequest,
  http: VendorHttp,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const task = await readTask(sortOf(request), request.taskId, http, signal);
  return task === null ? [] : [jobIdOf(sortOf(request), task['task_id'])];
}

export function isSort(name: string): name is Sort {
  return Object.hasOwn(PATHS, name);
}

/** @throws ProviderUnreachableError */
export async function stateOfTask(sort: Sort, id: string, http: VendorHttp, signal: AbortSignal): Promise<JobState> {
  const task = await readTask(sort, id, http, signal);
  if (task === null) return { state: 'unknown' };
  const { task_status: status, task_status_msg: message, task_result: result } = task;
  const facts = { ...costOf(task['final_unit_deduction'], 'units'), ...endIn(task['updated_at']) };
  if (status === 'failed') return failedFor(message, facts);
  if (status !== 'succeed') return unfinished(status, UNFINISHED);
  const { videos, images } = objectOf(result);
  return { state: 'succeeded', results: filesAt([...listOf(videos), ...listOf(images)]), ...facts };
}

/** @throws JobRefusedError for inputs that the vendor has no field for */
function sortOf(request: RenderRequest): Sort {
  const { kind, images = [], imagesAs, referenceVideos = [], referenceAudios = [] } = request;
  if (referenceVideos.length > 0 || referenceAudios.length > 0) throw tooMuch('neither reference videos nor audios');
  if (kind === 'image') {
    if (images.length > 1) throw tooMuch('at most one image');
    return 'images';
  }
  if (images.length === 0) return 'text2video';
  return imagesAs === 'references' ? 'multi-image2video' : 'image2video';
}

function fieldsOf(request: RenderRequest): JsonObject {
  const { kind, model: model_name, prompt, images = [], width = 1024, height = 1024 } = request;
  if (kind === 'image') {
    const size = { width, height };
    const resolution = IMAGE_RESOLUTIONS[imageTierOf(size)];
    return { model_name, prompt, n: 1, resolution, aspect_ratio: ratioFor(size, IMAGE_SHAPES), image: images[0] };
  }
  const { durationSeconds = 5, resolution = '720p' } = request;
  return {
    model_name,
    prompt,
    duration: String(durationSeconds),
    mode: requireVendorResolution(MODES, resolution),
    ...framingOf(request),
  };
}

/** The images and the shape. A video with a first frame has the shape of the frame. */
function framingOf(request: RenderRequest): JsonObject {
  const { images = [], aspectRatio: aspect_ratio } = request;
  switch (sortOf(request)) {
    case 'image2video': {
      const [image, image_tail] = framesOf(request);
      return { image, image_tail };
    }
    case 'multi-image2video':
      return { image_list: images.map((link) => ({ image: link })), aspect_ratio };
    default:
      return { aspect_ratio };
  }
}

function jobIdOf(sort: Sort, id: unknown): string {
  return `${sort}|${textOf(id, 'task id')}`;
}

/** @param id the vendor's or ours @returns null if the vendor answers that the task does not exist */
async function readTask(sort: Sort, id: string, http: VendorHttp, signal: AbortSignal): Promise<JsonObject | null> {
  const answer = await http.send({ path: `${PATHS[sort]}/${encodeURIComponent(id)}` }, signal);
  const { code, data } = objectOf(answer.document);
  if (code === 0) return objectOf(data);
  if (code === NO_SUCH_RESOURCE) return null;
  throw unreadable(answer);
}
