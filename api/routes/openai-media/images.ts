/**
 * OpenAI's image endpoints over image tasks: they answer when the task has succeeded.
 * https://platform.openai.com/docs/api-reference/images
 */
import Joi from 'joi';
import { presentTypedError } from '../../../domain/error-envelope.ts';
import { badRequest } from '../../../domain/errors.ts';
import { arrayOf, component, integer, object, text } from '../../../domain/json-schema.ts';
import { MEDIA_WAIT_MS } from '../../../domain/policy.ts';
import { EVENT_STREAM, json } from '../../endpoint/answers.ts';
import { endpoint, endpoints, type RequestLine, type UnnamedEndpoint } from '../../endpoint/endpoint.ts';
import { COMMON_FIELDS, type CommonFields } from '../../../services/input/media-request.ts';
import { list } from '../../../services/input/validation.ts';
import { releaseFailedTasks } from '../../../services/tasks/idempotency.ts';
import { type MediaBodyReader, mediaBody, reportUnused } from './body.ts';
import { findPictures, namedAsSent, PICTURE_REFERENCE, type PictureReference } from './picture-references.ts';
import { sendPictures } from './send-pictures.ts';
import { waitForSucceeded, tasksOfRequest } from '../tasks/task-of-request.ts';

interface ImageFields extends CommonFields {
  readonly model: string;
  readonly prompt: string;
  readonly n?: number | string;
  readonly size?: string;
  readonly background?: string;
  readonly response_format?: 'url' | 'b64_json';
  readonly stream?: boolean | 'true' | 'false';
  readonly images?: readonly PictureReference[];
}

const MAX_PICTURES = 10;
const MAX_SOURCES = 16;

/** The values of `n` in forms, where it is a string. */
const COUNTS = Array.from({ length: MAX_PICTURES }, (_, before) => String(before + 1));
const COUNT_REFUSAL = `{{#label}} must be a whole number from 1 to ${MAX_PICTURES}`;

const FIELDS = {
  model: Joi.string().required().description('An image model').example('imagea-2.5-sunburst'),
  prompt: Joi.string().required(),
  n: Joi.alternatives(Joi.number().integer().min(1).max(MAX_PICTURES), Joi.valid(...COUNTS))
    .messages({ 'alternatives.types': COUNT_REFUSAL, 'alternatives.match': COUNT_REFUSAL })
    .description(`The number of pictures, from 1 to ${MAX_PICTURES}. Each picture is a separate task`),
  size: Joi.string().description('`WIDTHxHEIGHT` in pixels, or `auto`'),
  background: Joi.string(),
  response_format: Joi.valid('url', 'b64_json').description('By default, both'),
  ...COMMON_FIELDS,
  stream: Joi.valid(true, false, 'true', 'false').description(
    'Whether the answer is a stream, with one event for each finished picture and no partial pictures',
  ),
};
const SOURCES = list(PICTURE_REFERENCE, { min: 1, max: MAX_SOURCES }).description(
  'The pictures to edit, in JSON. A form contains the pictures themselves',
);
const UNUSED = [
  'quality',
  'style',
  'moderation',
  'output_format',
  'output_compression',
  'partial_images',
  'input_fidelity',
];

const IMAGES = component(
  'OpenAiImages',
  object({
    created: integer('When the pictures were created, in Unix seconds'),
    data: arrayOf(
      component('OpenAiImage', {
        type: 'object',
        properties: { url: text('The link to the stored picture'), b64_json: text('The picture in base64') },
      }),
    ),
  }),
);

interface ImageEndpoint {
  readonly request: RequestLine;
  readonly summary: string;
  /** The type of the event for a finished picture. */
  readonly completedEvent: string;
  readonly reader: MediaBodyReader<ImageFields>;
  readonly requiresPicture?: boolean;
}

function imageEndpoint({
  request,
  summary,
  completedEvent,
  reader,
  requiresPicture = false,
}: ImageEndpoint): UnnamedEndpoint {
  return endpoint({
    request,
    access: 'key',
    summary,
    description:
      'Creates an image task for each picture, with the same prices, reservations and refunds. Answers when all tasks are final, with the ' +
      'pictures of the tasks that succeeded. After 95 seconds, 503 `processing_timeout` names the tasks, which continue. The header ' +
      '`x-genway-ignored` names fields without effect. With `stream: true`, each picture is an event.',
    body: reader.body,
    answers: { 200: { description: 'The pictures', content: { ...json(IMAGES), ...EVENT_STREAM } } },
    refusals: ['bad_request', 'insufficient_credits', 'idempotency_conflict', 'processing_timeout'],
    presentError: presentTypedError,
    handle: (request, services) =>
      reader.receive(request, services, async ({ fields, parameters, files, unused, identity }) => {
        const { caller, context } = request;
        const { socket } = context.req;
        const untilMs = context.state.receivedAtMs + MEDIA_WAIT_MS;
        reportUnused(context, unused);
        if (files.some(({ name }) => name === 'mask')) throw noMask();
        const references = Object.fromEntries((fields.images ?? []).map((one, index) => [`images[${index}]`, one]));
        if (requiresPicture && files.length === 0 && fields.images === undefined) throw noPicture();
        const uploaded = files.map(({ url }) => url);
        const pictures = await findPictures(uploaded, references, caller, services);
        const order = {
          ...parameters,
          model: fields.model,
          prompt: fields.prompt,
          ...(fields.size !== undefined && fields.size !== 'auto' && { size: fields.size }),
          ...(fields.background !== undefined && { background: fields.background }),
          ...(fields.user !== undefined && { user: fields.user }),
        };
        const parse = () => services.tasks.parseImageRequest(pictures.addTo(order));
        const taskRequest = { caller, context, body: identity, parse };
        const count = Number(fields.n ?? 1);
        const tasks = await namedAsSent(
          { ...(files.length > 0 && { images: 'image' }), ...pictures.names },
          tasksOfRequest(taskRequest, count, services, services.tasks.checkImageLinks),
        );
        const taskIds = tasks.map(({ id }) => id);
        const succeeded = await waitForSucceeded(tasks, { untilMs, socket }, services.tasks, () =>
          releaseFailedTasks({ caller, context, count }, taskIds, services.database),
        );
        const results = succeeded.flatMap(({ output }) => output ?? []);
        const created = Math.floor(Math.min(...succeeded.map(({ createdAt }) => createdAt.getTime())) / 1_000);
        const event = String(fields.stream) === 'true' ? completedEvent : null;
        const answer = { created, pictures: results, format: fields.response_format, event };
        await sendPictures(context, answer, caller.account.id, services);
      }),
  });
}

function noMask(): Error {
  return badRequest('"mask" is not supported by this model: describe in the prompt what to change');
}

function noPicture(): Error {
  return badRequest('"image" is required: upload it in a form, or name pictures as "images" in JSON');
}

export const openAiImageEndpoints = endpoints('OpenAI media', {
  generateImages: imageEndpoint({
    request: 'POST /v1/images/generations',
    summary: 'Create pictures and wait for the result',
    completedEvent: 'image_generation.completed',
    reader: mediaBody<ImageFields>('OpenAiImageGeneration', FIELDS, { unused: UNUSED }),
  }),
  editImages: imageEndpoint({
    request: 'POST /v1/images/edits',
    summary: 'Edit pictures and wait for the result',
    completedEvent: 'image_edit.completed',
    reader: mediaBody<ImageFields>(
      'OpenAiImageEdit',
      { ...FIELDS, images: SOURCES },
      { unused: UNUSED, fileFields: ['image', 'mask'] },
    ),
    requiresPicture: true,
  }),
});
