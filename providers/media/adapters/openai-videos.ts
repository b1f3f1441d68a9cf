/**
 * OpenAI's wire format for videos (`openai` 6, `resources/videos`), which other gateways offer after OpenAI ended its
 * own service. The gateway decides which seconds and sizes it accepts.
 */
import { isObject, type JsonObject, listOf, objectOf } from '../../../domain/json.ts';
import { videoSizeFor } from '../../../domain/video-size.ts';
import type { JobState, KindTraits, MediaAdapter, RenderRequest, SentSubmission } from '../adapter.ts';
import { bearer } from '../credentials.ts';
import { assertCancelled, documentOf, isMissing } from '../exchange.ts';
import { filePart, partsFor } from '../fields.ts';
import type { FormPart } from '../form.ts';
import { failed, unfinished } from '../job-state.ts';
import { endIn, valueIn } from '../json.ts';
import { openaiRefusal, openaiRefusalInSuccess, openaiVerdict } from '../openai-errors.ts';
import { isName, JobRefusedError, ProviderUnreachableError, textOf } from '../outcomes.ts';
import { ANY_RANGE } from '../range.ts';
import type { VendorHttp } from '../vendor-http.ts';

const TRAITS: KindTraits = {
  answers: 'job',
  recovery: 'content',
  inputs: 'bytes',
  poll: { firstMs: 5_000, everyMs: 15_000 },
  range: ANY_RANGE,
};

/**
 * The names of states in lower case, and their meaning. Relays keep the names of the vendors behind them, and new-api
 * puts its own around the whole answer.
 */
const STATES: Readonly<Record<string, 'unfinished' | 'succeeded' | 'failed' | 'expired'>> = {
  ...namesFor('succeeded', ['completed', 'complete', 'succeeded', 'succeed', 'success', 'finished', 'done']),
  ...namesFor('failed', ['failed', 'failure', 'fail', 'error', 'cancelled', 'canceled', 'aborted', 'rejected']),
  ...namesFor('expired', ['expired', 'timeout', 'timed_out']),
  ...namesFor('unfinished', [
    'not_start',
    'submitted',
    'queued',
    'queueing',
    'in_queue',
    'pending',
    'waiting',
    'preparing',
  ]),
  ...namesFor('unfinished', ['created', 'starting', 'in_progress', 'processing', 'running', 'generating']),
};
/** The fields that identify a video in a list. */
const IDENTITY_FIELDS = ['model', 'prompt', 'seconds', 'size'];
const PAGE_SIZE = 100;
const MAX_PAGES = 10;
/** With these statuses, the gateway answers that it has no list. */
const NO_LIST_STATUSES: readonly number[] = [400, 404, 405, 501];
/** With these statuses, a deletion reports that the video has ended or cannot be stopped. */
const ENDED_STATUSES: readonly number[] = [400, 404, 405, 409, 410];

export const openaiVideos: MediaAdapter = {
  kinds: { video: TRAITS },
  baseUrl: null,
  versionPath: 'v1',
  authorization: bearer,
  probe: { path: 'v1/videos', query: { limit: 1 } },

  submission: (request) => ({
    path: 'v1/videos',
    body: { form: partsOf(request) },
    identity: identityOf(request),
  }),

  accepted(answer) {
    const ids = layersOf(answer.document).map(idIn);
    const refused = ids.every(isHidden) ? openaiRefusalInSuccess(answer) : null;
    if (refused !== null) throw refused;
    return { jobId: textOf(ids.find(isName), 'video id') };
  },
  refusal: openaiRefusal,

  async find(sent, http, signal) {
    const found: string[] = [];
    let after: string | undefined;
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const videos = await listVideos(http, after, signal);
      if (videos === null) return null;
      const recent = videos.filter(({ createdAtMs }) => createdAtMs === null || createdAtMs >= sent.since.getTime());
      const alike = recent.filter((video) => isLike(video, sent));
      // A field that the list omits cannot rule a video out.
      if (!alike.every(isComplete)) return null;
      found.push(...alike.map(({ id }) => id));
      if (recent.length < PAGE_SIZE) return found;
      after = videos.at(-1)?.id;
    }
    throw new ProviderUnreachableError('the upstream lists more videos than Genway reads');
  },

  async status(jobId, http, signal) {
    const answer = await http.send({ path: pathOf(jobId) }, signal);
    if (isMissing(answer)) return { state: 'unknown' };
    return stateOf(videoIn(documentOf(answer)), new URL(`${pathOf(jobId)}/content`, http.base));
  },

  async cancel(jobId, http, signal) {
    const answer = await http.send({ method: 'DELETE', path: pathOf(jobId) }, signal);
    assertCancelled(answer, ENDED_STATUSES);
  },
};

/** @throws JobRefusedError for inputs that the format has no field for */
function partsOf(request: RenderRequest): readonly FormPart[] {
  const { images = [], referenceVideos = [], referenceAudios = [], files, params } = request;
  if (images.length > 1 || referenceVideos.length > 0 || referenceAudios.length > 0) {
    throw new JobRefusedError('bad_request', 'The model takes at most one image, and neither videos nor sounds.');
  }
  const fields: JsonObject = { ...identityOf(request), ...params };
  const parts = partsFor(fields, request);
  const reference = images.map((link) => files.get(link)).find((file) => file !== undefined);
  return reference ? [...parts, filePart('input_reference', reference)] : parts;
}

/** The values of {@link IDENTITY_FIELDS} for a request. */
function identityOf({ model, prompt, durationSeconds = 4, resolution, aspectRatio }: RenderRequest) {
  const { width, height } = videoSizeFor(resolution ?? '720p', aspectRatio ?? '16:9');
  return { model, prompt, seconds: String(durationSeconds), size: `${width}x${height}` };
}

/** A video in a list, from which some gateways omit fields. */
interface ListedVideo {
  readonly id: string;
  readonly createdAtMs: number | null;
  readonly document: JsonObject;
}

/** @returns null if the gateway has no list, or sends something else */
async function listVideos(
  http: VendorHttp,
  after: string | undefined,
  signal: AbortSignal,
): Promise<readonly ListedVideo[] | null> {
  const answer = await http.send({ path: 'v1/videos', query: { limit: PAGE_SIZE, order: 'desc', after } }, signal);
  if (NO_LIST_STATUSES.includes(answer.status)) return null;
  const { data } = objectOf(documentOf(answer));
  if (!Array.isArray(data)) return null;
  const videos = listOf(data).map((document) => listedVideo(objectOf(document)));
  return videos.every((video) => video !== null) ? videos : null;
}

function listedVideo(document: JsonObject): ListedVideo | null {
  const { id, created_at: createdAt = document['created'] } = document;
  if (typeof id !== 'string') return null;
  return { id, createdAtMs: typeof createdAt === 'number' ? createdAt * 1000 : null, document };
}

/** Whether every listed field of the video equals the submitted field. */
function isLike({ document }: ListedVideo, { request }: SentSubmission): boolean {
  return Object.entries(identityOf(request)).every(
    ([field, value]) => isHidden(document[field]) || String(document[field]) === value,
  );
}

function isComplete({ createdAtMs, document }: ListedVideo): boolean {
  return createdAtMs !== null && IDENTITY_FIELDS.every((field) => !isHidden(document[field]));
}

function isHidden(value: unknown): boolean {
  return value === undefined || value === null || value === '';
}

function pathOf(jobId: string): string {
  return `v1/videos/${encodeURIComponent(jobId)}`;
}

/** The answer and what it wraps in `data`, from the outside: relays put envelopes around the video. */
function layersOf(document: unknown): readonly JsonObject[] {
  const outer = objectOf(document);
  const middle = objectOf(outer['data']);
  return [outer, middle, objectOf(middle['data'])];
}

function idIn({ id, task_id: taskId }: JsonObject): unknown {
  return id ?? taskId;
}

/** The layer that reports the state; a state without an id may be the envelope's own. */
function videoIn(document: unknown): JsonObject {
  const layers = layersOf(document).filter(({ status }) => status !== undefined);
  return layers.find((layer) => isName(idIn(layer))) ?? layers[0] ?? {};
}

function stateOf(video: JsonObject, content: URL): JobState {
  const { status, progress, completed_at: endedAt, fail_reason: reason } = video;
  const error = isObject(video['error']) ? video['error'] : { message: video['error'] ?? reason };
  const state = valueIn(STATES, typeof status === 'string' ? status.toLowerCase() : null);
  const verdict = openaiVerdict(error);
  // A relay may complete a job that moderation stopped.
  const hasError = isName(error['code']) || verdict !== 'processing_failed';
  if (state === 'failed' || (state === 'succeeded' && hasError))
    return failed(verdict, error['message'], endIn(endedAt));
  if (state === 'expired') return failed('processing_timeout', undefined, endIn(endedAt));
  if (state === 'succeeded') {
    return { state, results: [{ url: content.href, mimeType: 'video/mp4' }], ...endIn(endedAt) };
  }
  return unfinished(status, state === 'unfinished' ? [status] : [], percentOf(progress));
}

/** Some relays write `40%`. */
function percentOf(progress: unknown): unknown {
  return typeof progress === 'string' && /^\d{1,3}%$/.test(progress) ? Number.parseInt(progress, 10) : progress;
}

function namesFor<State>(state: State, names: readonly string[]): Readonly<Record<string, State>> {
  return Object.fromEntries(names.map((name) => [name, state]));
}
