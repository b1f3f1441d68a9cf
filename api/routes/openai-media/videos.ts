/** OpenAI's video endpoints over video tasks. https://platform.openai.com/docs/api-reference/videos */
import Joi from 'joi';
import { retryOnLostConnection } from '../../../db/connections.ts';
import type { Caller } from '../../../db/queries/api-keys.ts';
import { hasDeletedResults, recordDeletedResults } from '../../../db/queries/result-files.ts';
import { findAccountTask, listTasks } from '../../../db/queries/tasks.ts';
import { cutText } from '../../../domain/cut-text.ts';
import { presentTypedError } from '../../../domain/error-envelope.ts';
import { badRequest, ServiceError } from '../../../domain/errors.ts';
import { arrayOf, boolean, nullable, object, text } from '../../../domain/json-schema.ts';
import * as field from '../../../domain/resource/field.ts';
import { deletionOf, nested, resource } from '../../../domain/resource/resource.ts';
import { MEDIA_WAIT_MS } from '../../../domain/policy.ts';
import { isFinal, type Task, type TaskFailure, type TaskStatus } from '../../../domain/task.ts';
import { videoSizeFor } from '../../../domain/video-size.ts';
import { json } from '../../endpoint/answers.ts';
import { endpoint, endpoints } from '../../endpoint/endpoint.ts';
import { pageById } from '../../endpoint/page.ts';
import { readPage } from '../../../services/page.ts';
import { notFoundError } from '../../../domain/not-found.ts';
import { idParameter, choiceParameter, NEWEST_FIRST } from '../../endpoint/query.ts';
import { COMMON_FIELDS, type CommonFields } from '../../../services/input/media-request.ts';
import { cancelOwnTask } from '../../../services/tasks/cancel-task.ts';
import type { ApiServices } from '../../services.ts';
import { mediaBody, reportUnused } from './body.ts';
import { findPictures, namedAsSent, PICTURE_REFERENCE, type PictureReference } from './picture-references.ts';
import { readCreated, taskOfRequest } from '../tasks/task-of-request.ts';

const STATUSES: Readonly<Record<TaskStatus, string>> = {
  queued: 'queued',
  processing: 'in_progress',
  succeeded: 'completed',
  failed: 'failed',
};

const ERROR = nested<TaskFailure>({ code: field.text('code'), message: field.text('message') });

const VIDEO = resource<Task>(
  'OpenAiVideo',
  {
    id: field.id('task')('id'),
    object: field.constant('video'),
    created_at: field.unixSeconds('createdAt', 'When the video was created'),
    completed_at: field.unixSeconds.orNull('completedAt'),
    expires_at: field.unixSeconds.orNull(() => null, 'The expiry. Always null: stored videos do not expire'),
    status: field.oneOf(Object.values(STATUSES))(({ status }) => STATUSES[status]),
    progress: field.integer(({ status }) => (isFinal(status) ? 100 : 0), '100 for a final task, otherwise 0'),
    model: field.text('model'),
    prompt: field.text(({ request }) => request.prompt),
    seconds: field.text(({ request }) => String(request.durationSeconds ?? '')),
    size: field.text(({ request }) => sizeOf(request)),
    remixed_from_video_id: field.text.orNull(() => null),
    error: field.object(ERROR).orNull('failure'),
  },
  'A video task, as the OpenAI SDKs read it',
);

function sizeOf({ resolution, aspectRatio }: Pick<Task['request'], 'resolution' | 'aspectRatio'>): string {
  if (resolution === undefined || aspectRatio === undefined) return '';
  const { width, height } = videoSizeFor(resolution, aspectRatio);
  return `${width}x${height}`;
}

interface VideoFields extends CommonFields {
  readonly model: string;
  readonly prompt: string;
  readonly seconds?: string | number;
  readonly size?: string;
  readonly input_reference?: PictureReference;
}

const SECONDS_REFUSAL = '{{#label}} must be a whole number';

const reader = mediaBody<VideoFields>(
  'OpenAiVideoGeneration',
  {
    model: Joi.string().required().description('A video model').example('vidone-3.0'),
    prompt: Joi.string().required(),
    seconds: Joi.alternatives(Joi.number(), Joi.string().pattern(/^\d{1,3}$/))
      .messages({ 'alternatives.types': SECONDS_REFUSAL, 'string.pattern.base': SECONDS_REFUSAL })
      .description('The length in whole seconds'),
    size: Joi.string().description('`WIDTHxHEIGHT`, for a resolution and an aspect ratio of the model'),
    input_reference: PICTURE_REFERENCE.description('The first picture. A form may contain the picture itself'),
    ...COMMON_FIELDS,
  },
  { fileFields: ['input_reference'] },
);

const MAX_LISTED_PROMPT_LENGTH = 200;

const DELETED = deletionOf('task', 'video.deleted');

export const openAiVideoEndpoints = endpoints('OpenAI media', {
  createVideo: endpoint({
    request: 'POST /v1/videos',
    access: 'key',
    summary: 'Create a video',
    description: 'Creates a video task, with the same prices, reservations and refunds.',
    body: reader.body,
    answers: { 200: { description: 'The queued video', content: json(VIDEO.schema) } },
    refusals: ['bad_request', 'insufficient_credits', 'idempotency_conflict'],
    presentError: presentTypedError,
    handle: (request, services) =>
      reader.receive(request, services, async ({ fields, parameters, files, unused, identity }) => {
        const { caller, context } = request;
        reportUnused(context, unused);
        const { input_reference } = fields;
        const uploaded = files.map(({ url }) => url);
        const pictures = await findPictures(
          uploaded,
          { ...(input_reference && { input_reference }) },
          caller,
          services,
        );
        const order = {
          ...parameters,
          model: fields.model,
          prompt: fields.prompt,
          ...(fields.seconds !== undefined && { duration: Number(fields.seconds) }),
          ...(fields.size !== undefined && frameOf(fields.model, fields.size, services)),
          ...(fields.user !== undefined && { user: fields.user }),
        };
        const parse = () => services.tasks.parseVideoRequest(pictures.addTo(order));
        const names = { duration: 'seconds', images: 'input_reference', ...pictures.names };
        const created = await namedAsSent(names, taskOfRequest({ caller, context, body: identity, parse }, services));
        const wait = { untilMs: context.state.receivedAtMs + MEDIA_WAIT_MS, socket: context.req.socket };
        return VIDEO.present(await readCreated(created, wait, services.tasks));
      }),
  }),
  listVideos: endpoint({
    request: 'GET /v1/videos',
    access: 'key',
    summary: 'List videos, newest first',
    query: {
      after: idParameter('task', 'The id of the last video of the previous page'),
      limit: pageById('task').limit,
      order: NEWEST_FIRST,
    },
    answers: {
      200: {
        description: 'A page of videos',
        content: json(
          object({
            object: { const: 'list' },
            data: arrayOf(VIDEO.schema),
            first_id: nullable(text()),
            last_id: nullable(text()),
            has_more: boolean(),
          }),
        ),
      },
    },
    presentError: presentTypedError,
    handle: async ({ caller, query: { after: before, limit } }, { database }) => {
      const accountId = caller.account.id;
      const { rows, last } = await readPage({ before, limit }, (slice) =>
        listTasks(database, { accountId, kind: 'video', includeDeleted: false, ...slice }),
      );
      const [first_id, last_id] = [rows[0]?.id ?? null, rows.at(-1)?.id ?? null];
      return {
        object: 'list',
        data: rows.map((row) => VIDEO.present(withShortPrompt(row))),
        first_id,
        last_id,
        has_more: last !== undefined,
      };
    },
  }),
  getVideo: endpoint({
    request: 'GET /v1/videos/{task_id}',
    access: 'key',
    summary: 'Get a video',
    answers: { 200: { description: 'The video', content: json(VIDEO.schema) } },
    presentError: presentTypedError,
    handle: async ({ caller, params }, services) => VIDEO.present(await keptVideoOf(caller, params.task_id, services)),
  }),
  getVideoContent: endpoint({
    request: 'GET /v1/videos/{task_id}/content',
    access: 'key',
    summary: 'Download a video',
    query: { variant: choiceParameter(['video'], 'The variant. Only the video is available') },
    answers: { 302: { description: 'Redirects to the stored file' } },
    presentError: presentTypedError,
    handle: async ({ caller, params, context }, services) => {
      const { status, output } = await keptVideoOf(caller, params.task_id, services);
      const url = output?.[0]?.url;
      if (url === undefined)
        throw new ServiceError(
          'not_found',
          `The video is ${STATUSES[status]} and has no content. GET /v1/videos/{video_id} returns its status.`,
        );
      context.redirect(url);
    },
  }),
  deleteVideo: endpoint({
    request: 'DELETE /v1/videos/{task_id}',
    access: 'key',
    summary: 'Delete a video',
    description:
      'Deletes the stored file. Cancels an unfinished video, or answers 409 if cancelling is too late. The task and its charges stay recorded.',
    answers: { 200: { description: 'The deleted video', content: json(DELETED.schema) } },
    refusals: ['idempotency_conflict', 'processing_unavailable'],
    presentError: presentTypedError,
    handle: async ({ caller, params }, services) => {
      const task = await videoOf(caller, params.task_id, services);
      if (!isFinal(task.status)) await cancelOwnTask(services, task);
      await retryOnLostConnection(() => recordDeletedResults(services.database, task.id));
      const keys = (task.output ?? []).flatMap(({ url }) => services.storage.keyOf(url) ?? []);
      await Promise.all(keys.map((key) => services.storage.delete(key)));
      return DELETED.present(task);
    },
  }),
});

/** The resolution and aspect ratio of a size. @throws ServiceError `bad_request` that lists the sizes of the model */
function frameOf(modelId: string, size: string, { catalogue }: ApiServices): object {
  const model = catalogue.videoModels.get(modelId);
  // The check of the request reports the model.
  if (model === undefined) return {};
  const frames = Object.keys(model.pricing.byResolution).flatMap((resolution) =>
    model.aspectRatios.map((aspect_ratio) => ({ resolution, aspect_ratio })),
  );
  const sizes = new Map(
    frames.map((frame) => [sizeOf({ resolution: frame.resolution, aspectRatio: frame.aspect_ratio }), frame]),
  );
  const frame = sizes.get(size);
  if (frame === undefined) throw badRequest(`"size" must be one of: [${[...sizes.keys()].join(' ')}]`);
  return frame;
}

/** Keeps pages small: 500 prompts may be 8 MB. */
function withShortPrompt(task: Task): Task {
  const { prompt } = task.request;
  if (prompt.length <= MAX_LISTED_PROMPT_LENGTH) return task;
  return { ...task, request: { ...task.request, prompt: `${cutText(prompt, MAX_LISTED_PROMPT_LENGTH)}…` } };
}

/** A video that its customer has not deleted. @throws ServiceError `not_found` */
async function keptVideoOf(caller: Caller, id: string, services: ApiServices): Promise<Task> {
  const task = await videoOf(caller, id, services);
  const isDeleted = await retryOnLostConnection(() => hasDeletedResults(services.database, task.id));
  if (isDeleted) throw notFoundError('task', caller);
  return task;
}

/** Also a deleted video, so that a deletion that failed halfway can be repeated. @throws ServiceError `not_found` */
async function videoOf(caller: Caller, id: string, { database }: Pick<ApiServices, 'database'>): Promise<Task> {
  const task = await retryOnLostConnection(() => findAccountTask(database, caller.account.id, id));
  if (task?.kind !== 'video') throw notFoundError('task', caller);
  return task;
}
