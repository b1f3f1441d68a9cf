/** Media tasks, files and models: specification sections 2.1 to 2.3, 2.5 and 4.1 to 4.6. */
import { type Catalogue, type MediaModel } from '../../catalogue/types.ts';
import { TASK_ERROR_CODES } from '../../domain/errors.ts';
import type { TaskObject, TypicalSeconds } from '../../domain/task-object.ts';
import { WIRE_FORMAT_NAMES } from '../../domain/wire-format-name.ts';
import { FILE_TYPES } from '../../storage/file-type.ts';
import type { presentFile } from '../routes/files/present.ts';
import { imageRequestSchema } from '../routes/images/schema.ts';
import type { presentModel } from '../routes/models/present.ts';
import { videoRequestSchema } from '../routes/videos/schema.ts';
import { toJsonSchema } from './joi-schema.ts';
import {
  arrayOf,
  boolean,
  exactly,
  fieldsOf,
  integer,
  type JsonSchema,
  nullable,
  number,
  object,
  oneOfTexts,
  optional,
  ref,
  text,
  unixSeconds,
  usd,
  idOf,
} from './json-schema.ts';
import { json } from '../endpoint/answers.ts';
import { jsonBody, type Operation } from './operation.ts';
import { envelopeOf, EXAMPLE_REQUEST_ID, IDEMPOTENCY_KEY, listOf, PAGE, PERIOD, query } from './shared.ts';

type Output = NonNullable<TaskObject['output']>;

const TASK_STATUSES = ['queued', 'processing', 'succeeded', 'failed'];
const TASK_KINDS = ['image', 'video'];

/** The fields of a task as its owner sees it. */
export const TASK_FIELDS = fieldsOf<TaskObject>({
  id: idOf('task'),
  object: exactly('task'),
  task_kind: oneOfTexts(TASK_KINDS),
  capability_id: text('The model ID that was sent'),
  capability_version: nullable(integer('Contract version of the model')),
  media_type: oneOfTexts(TASK_KINDS),
  model: text('The model ID that was sent'),
  status: oneOfTexts(TASK_STATUSES, 'Only `succeeded` and `failed` are final'),
  stage: oneOfTexts(TASK_STATUSES, 'Repeats `status`, for older clients'),
  created_at: unixSeconds('When the task was created'),
  updated_at: unixSeconds('When it last changed'),
  completed_at: nullable(unixSeconds('When it ended; null while running')),
  poll_after_seconds: optional(integer('Wait so long before the next poll; while running')),
  typical_seconds: optional(
    object(
      fieldsOf<TypicalSeconds>({
        p50: number('Half of the recent tasks took no longer; seconds'),
        p90: number('Nine of ten took no longer; seconds'),
        samples: integer('How many tasks that is about'),
      }),
      'How long recent tasks of the model took; while running, and when enough of them are known',
    ),
  ),
  output: nullable(ref('TaskOutput')),
  usage: object(
    fieldsOf<TaskObject['usage']>({
      credits_reserved: usd('Held at creation'),
      credits_charged: usd('What the task costs; 0 when it failed'),
      credits_settled: usd('Finally taken; 0 unless it succeeded'),
      credits_refunded: usd('Returned; all of it when it failed'),
      billable_duration_seconds: optional(integer('Seconds that the price is based on; videos only')),
    }),
  ),
  request_id: text('Of the request that created the task; quote it to support'),
  error_code: nullable(oneOfTexts(TASK_ERROR_CODES, 'Null unless failed')),
  error_message: nullable(text('The cause, and what to change; null unless failed')),
  retryable: optional(boolean('Whether the same request can succeed; when failed')),
});

type PresentedModel = ReturnType<typeof presentModel>;
type VideoModelObject = Extract<PresentedModel, { kind: 'video' }>;
type ImageModelObject = Extract<PresentedModel, { kind: 'image' }>;
type TextModelObject = Extract<PresentedModel, { kind: 'text' }>;

const modelHead = {
  id: text('What requests send as `model`; exact and case-sensitive'),
  object: exactly('model'),
  created: unixSeconds('The edition of the catalogue'),
  owned_by: text(),
};

const itemCount = object({ min: integer(), max: integer() });
const byResolution = { type: 'object', additionalProperties: usd('Price') };

const MODEL_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  VideoModel: object(
    fieldsOf<VideoModelObject>({
      ...modelHead,
      kind: exactly('video'),
      endpoint: exactly('/v1/videos/tasks'),
      capability_version: nullable(integer()),
      limits: object(
        fieldsOf<VideoModelObject['limits']>({
          prompt_characters: itemCount,
          duration_seconds: object({ min: integer(), max: integer(), default: integer() }),
          images: itemCount,
          reference_videos: itemCount,
          reference_audios: itemCount,
          aspect_ratios: arrayOf(text()),
          resolutions: arrayOf(text()),
        }),
      ),
      prices: object(fieldsOf<VideoModelObject['prices']>({ unit: exactly('second'), by_resolution: byResolution })),
    }),
  ),
  ImageModel: object(
    fieldsOf<ImageModelObject>({
      ...modelHead,
      kind: exactly('image'),
      endpoint: exactly('/v1/images/tasks'),
      capability_version: nullable(integer()),
      limits: object(
        fieldsOf<ImageModelObject['limits']>({
          images: itemCount,
          aspect_ratios: arrayOf(text()),
          resolutions: arrayOf(text()),
          backgrounds: arrayOf(text()),
        }),
      ),
      prices: object(fieldsOf<ImageModelObject['prices']>({ unit: exactly('image'), by_resolution: byResolution })),
    }),
  ),
  TextModel: object(
    fieldsOf<TextModelObject>({
      ...modelHead,
      kind: exactly('text'),
      family: text(),
      formats: arrayOf(oneOfTexts(WIRE_FORMAT_NAMES), 'The formats that answer for the model'),
      reasoning: boolean('Whether the model may think before it answers'),
      free: boolean('No cost per token'),
      legacy: boolean('An older id that still works'),
      limits: object(
        fieldsOf<TextModelObject['limits']>({
          context_tokens: nullable(integer()),
          max_output_tokens: nullable(integer()),
        }),
      ),
      prices: object(
        fieldsOf<TextModelObject['prices']>({
          unit: exactly('1M tokens'),
          input: usd('Input tokens'),
          output: usd('Output tokens, reasoning included'),
          cached_input: usd('Input tokens that were read from the cache'),
          cache_write: usd('Input tokens that were written to the cache'),
          tiers: arrayOf(
            object(
              fieldsOf<TextModelObject['prices']['tiers'][number]>({
                threshold_tokens: integer('Input tokens'),
                applies: oneOfTexts(['over', 'at_or_over'], 'Beyond the threshold, or from it on'),
                factor: number('Times the price, for the whole request'),
              }),
            ),
          ),
          peaks: arrayOf(
            object(
              fieldsOf<TextModelObject['prices']['peaks'][number]>({
                utc_offset_minutes: integer('Of the clock that the windows are told by'),
                days: arrayOf(text()),
                windows: arrayOf(object({ from: text('HH:MM'), to: text('HH:MM') })),
                factor: number('Times the price'),
              }),
            ),
          ),
        }),
      ),
    }),
  ),
  Model: {
    oneOf: ['VideoModel', 'ImageModel', 'TextModel'].map(ref),
    discriminator: {
      propertyName: 'kind',
      mapping: {
        video: '#/components/schemas/VideoModel',
        image: '#/components/schemas/ImageModel',
        text: '#/components/schemas/TextModel',
      },
    },
  },
};

/** The schemas of the media calls; those of create calls from what checks them. */
export function mediaSchemas(catalogue: Catalogue): Readonly<Record<string, JsonSchema>> {
  // What is a public link is decided elsewhere; here it is only described.
  const context = { isInputLink: () => true };
  return {
    Task: object(TASK_FIELDS, 'An image or a video that was asked for.'),
    TaskOutput: object(
      fieldsOf<Output>({
        media: arrayOf(
          object(
            fieldsOf<Output['media'][number]>({
              type: oneOfTexts(TASK_KINDS),
              url: text('Link to the stored file; download and keep it', { format: 'uri' }),
              mime_type: text(),
              width: optional(integer('Pixels; images only')),
              height: optional(integer('Pixels; images only')),
            }),
          ),
        ),
        r2_url: nullable(text('The first file again, for older clients; read `media`', { format: 'uri' })),
      }),
    ),
    File: object(
      fieldsOf<ReturnType<typeof presentFile>>({
        id: idOf('file'),
        object: exactly('file'),
        url: text('Pass it in media requests', { format: 'uri' }),
        mime_type: text('Told by the content'),
        bytes: integer(),
        created_at: unixSeconds('When it was uploaded'),
        filename: nullable(text('As the client called it')),
        used_at: nullable(unixSeconds('When the first task was created with it')),
        expires_at: nullable(unixSeconds('When it is removed if no task uses it; null once one has')),
      }),
    ),
    DeletedFile: object({ id: idOf('file'), object: exactly('file'), deleted: boolean() }),
    ...MODEL_SCHEMAS,
    ...byModel('CreateVideoTask', catalogue.videoModels, (model) => toJsonSchema(videoRequestSchema(model, context))),
    ...byModel('CreateImageTask', catalogue.imageModels, (model) => toJsonSchema(imageRequestSchema(model, context))),
  };
}

/** A schema for each model, and one for whichever of them a body names. */
function byModel<Model extends MediaModel>(
  name: string,
  models: ReadonlyMap<string, Model>,
  schemaOf: (model: Model) => JsonSchema,
): Readonly<Record<string, JsonSchema>> {
  const schemas = Array.from(models, ([id, model]) => [`${name}.${id}`, schemaOf(model)] as const);
  const mapping = Array.from(models.keys(), (id) => [id, `#/components/schemas/${name}.${id}`]);
  return {
    ...Object.fromEntries(schemas),
    [name]:
      models.size === 0
        ? { not: {}, description: 'There is no such model' }
        : {
            oneOf: schemas.map(([schema]) => ref(schema)),
            discriminator: { propertyName: 'model', mapping: Object.fromEntries(mapping) },
          },
  };
}

const QUEUED_TASK = {
  data: {
    id: 'task_0mc9x1k2v0q5x8w2n7b4t6y1z3a9s8d7',
    object: 'task',
    task_kind: 'video',
    capability_id: 'vidone-3.0',
    capability_version: 1,
    media_type: 'video',
    model: 'vidone-3.0',
    status: 'queued',
    stage: 'queued',
    created_at: 1_790_000_000,
    updated_at: 1_790_000_000,
    completed_at: null,
    poll_after_seconds: 8,
    output: null,
    usage: {
      credits_reserved: 0.5,
      credits_charged: 0.5,
      credits_settled: 0,
      credits_refunded: 0,
      billable_duration_seconds: 5,
    },
    request_id: EXAMPLE_REQUEST_ID,
    error_code: null,
    error_message: null,
  },
};

const CREATED = {
  201: {
    description: 'The task, queued. Its price is reserved.',
    content: json(envelopeOf(ref('Task')), { queued: { value: QUEUED_TASK } }),
    headers: ['Idempotent-Replayed'],
  },
};

const FILE_EXTENSIONS = FILE_TYPES.map(({ extension }) => extension).join(', ');

export const MEDIA_OPERATIONS: readonly Operation[] = [
  {
    method: 'post',
    path: '/v1/videos/tasks',
    id: 'createVideoTask',
    tag: 'Media tasks',
    summary: 'Create a video',
    description:
      'Reserves the price and answers at once; the result appears on `GET /v1/tasks/{task_id}` and through webhooks. A failed ' +
      'task costs nothing. Of the inputs only their links are looked at: one that the model cannot use fails the task afterwards.',
    access: 'key',
    parameters: [IDEMPOTENCY_KEY],
    body: jsonBody(ref('CreateVideoTask'), {
      text: { value: { model: 'vidone-3.0', prompt: 'A lighthouse at dusk, waves breaking below', duration: 5 } },
      images: {
        value: {
          model: 'vidtwo-1.1',
          prompt: 'The camera circles the lighthouse',
          images: ['https://example.com/lighthouse.png'],
        },
      },
    }),
    answers: CREATED,
    refusals: [402, 409, 503],
  },
  {
    method: 'post',
    path: '/v1/images/tasks',
    id: 'createImageTask',
    tag: 'Media tasks',
    summary: 'Create an image',
    description:
      'Reserves the price and answers at once, like `POST /v1/videos/tasks`. Each link in `images` is looked at: one that does ' +
      'not lead to a PNG, JPEG or WebP picture is refused.',
    access: 'key',
    parameters: [IDEMPOTENCY_KEY],
    body: jsonBody(ref('CreateImageTask'), {
      text: { value: { model: 'imagea-2.5-sunburst', prompt: 'A lighthouse at dusk, in watercolour' } },
      size: {
        value: { model: 'imagea-2.5-sunburst', prompt: 'The same, at night', size: '1536x1024', background: 'opaque' },
      },
    }),
    answers: CREATED,
    refusals: [402, 409, 503],
  },
  {
    method: 'get',
    path: '/v1/tasks',
    id: 'listTasks',
    tag: 'Media tasks',
    summary: 'List tasks, newest first',
    access: 'key',
    parameters: [
      query('status', 'Only tasks in that state', oneOfTexts(TASK_STATUSES)),
      query('task_kind', 'Only tasks of that kind', oneOfTexts(TASK_KINDS)),
      query('model', 'Only tasks of that model', text()),
      ...PERIOD,
      ...PAGE,
    ],
    answers: { 200: { description: 'A page of tasks', content: json(listOf(ref('Task'))) } },
    refusals: [400],
  },
  {
    method: 'get',
    path: '/v1/tasks/{task_id}',
    id: 'getTask',
    tag: 'Media tasks',
    summary: 'Ask what became of a task',
    description: 'Poll no sooner than `poll_after_seconds`. A failed task is 200 too: the failure is in the body.',
    access: 'key',
    answers: { 200: { description: 'The task, whatever its state', content: json(envelopeOf(ref('Task'))) } },
    refusals: [404],
  },
  {
    method: 'post',
    path: '/v1/files',
    id: 'uploadFile',
    tag: 'Files',
    summary: 'Upload a local input',
    description:
      `Up to 50 MB, videos up to 100 MB. The type is told by the content: ${FILE_EXTENSIONS}. An account may keep so many ` +
      'files and bytes, more once it has topped up; beyond that it is 403. A file that no task uses expires.',
    access: 'key',
    body: {
      required: true,
      content: {
        'multipart/form-data': {
          schema: object({ file: text('The file, with a filename', { format: 'binary' }) }),
        },
      },
    },
    answers: { 201: { description: 'The stored file', content: json(envelopeOf(ref('File'))) } },
  },
  {
    method: 'get',
    path: '/v1/files',
    id: 'listFiles',
    tag: 'Files',
    summary: 'List uploaded files',
    description: 'Newest first.',
    access: 'key',
    parameters: PAGE,
    answers: { 200: { description: 'A page of files', content: json(listOf(ref('File'))) } },
    refusals: [400],
  },
  {
    method: 'get',
    path: '/v1/files/{file_id}',
    id: 'getFile',
    tag: 'Files',
    summary: 'Get what is known of an uploaded file',
    access: 'key',
    answers: { 200: { description: 'The file', content: json(envelopeOf(ref('File'))) } },
    refusals: [404],
  },
  {
    method: 'delete',
    path: '/v1/files/{file_id}',
    id: 'deleteFile',
    tag: 'Files',
    summary: 'Delete an uploaded file',
    description: 'Its link leads nowhere from then on, also for tasks under way.',
    access: 'key',
    answers: { 200: { description: 'It is gone', content: json(envelopeOf(ref('DeletedFile'))) } },
    refusals: [404],
  },
  {
    method: 'get',
    path: '/v1/models',
    id: 'listModels',
    tag: 'Models',
    summary: 'List the models that the key may call',
    description: 'Answered on the text address as well, and with the key in the header of any format.',
    access: 'any-key',
    answers: {
      200: {
        description: 'All of them, in the list shape of the widely used SDKs',
        content: json(object({ object: exactly('list'), data: arrayOf(ref('Model')) })),
      },
    },
  },
  {
    method: 'get',
    path: '/v1/models/{model_id}',
    id: 'getModel',
    tag: 'Models',
    summary: 'Get one model',
    access: 'any-key',
    answers: { 200: { description: 'The model', content: json(ref('Model')) } },
    refusals: [404],
  },
];
