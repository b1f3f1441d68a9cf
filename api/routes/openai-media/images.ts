/**
 * OpenAI's image endpoints over image tasks: they answer when the task has succeeded.
 * https://platform.openai.com/docs/api-reference/images
 */
import Joi from 'joi';
import { presentTypedError } from '../../../domain/error-envelope.ts';
import { badRequest } from '../../../domain/errors.ts';
import { arrayOf, component, integer, object, text } from '../../../domain/json-schema.ts';
import { MEDIA_WAIT_MS } from '../../../domain/policy.ts';
import type { GeneratedMedia } from '../../../domain/task.ts';
import type { Storage } from '../../../storage/storage.ts';
import { json } from '../../endpoint/answers.ts';
import { endpoint, type Endpoint } from '../../endpoint/endpoint.ts';
import { type MediaBodyReader, mediaBody, reportUnused } from './body.ts';
import { taskOfRequest, untilSucceeded } from '../tasks/task-of-request.ts';

interface ImageFields {
  readonly model: string;
  readonly prompt: string;
  readonly size?: string;
  readonly background?: string;
  readonly response_format?: 'url' | 'b64_json';
}

const FIELDS = {
  model: Joi.string().required().description('An image model').example('imagea-2.5-sunburst'),
  prompt: Joi.string().required(),
  n: Joi.valid(1, '1').messages({ 'any.only': '{{#label}} must be 1: send one request for each picture' }),
  size: Joi.string().description('`WIDTHxHEIGHT` in pixels, or `auto`'),
  background: Joi.string(),
  response_format: Joi.valid('url', 'b64_json').description('Both by default'),
  stream: Joi.valid(false, 'false').messages({ 'any.only': '{{#label}} is not supported: wait for the picture' }),
};
const UNUSED = [
  'quality',
  'style',
  'user',
  'moderation',
  'output_format',
  'output_compression',
  'partial_images',
  'input_fidelity',
];

const IMAGES = component(
  'OpenAiImages',
  object({
    created: integer('Unix seconds'),
    data: arrayOf(
      component('OpenAiImage', {
        type: 'object',
        properties: { url: text('Link to the stored picture'), b64_json: text('The picture in base64') },
      }),
    ),
  }),
);

interface ImageEndpoint {
  readonly id: string;
  readonly path: string;
  readonly summary: string;
  readonly reader: MediaBodyReader<ImageFields>;
}

function imageEndpoint({ id, path, summary, reader }: ImageEndpoint): Endpoint {
  return endpoint({
    id,
    tag: 'OpenAI media',
    method: 'post',
    path,
    access: 'key',
    summary,
    description:
      'An image task behind the endpoint of OpenAI: the same prices, reservations and refunds. It answers when the picture is ready. 503 ' +
      '`processing_timeout` after 95 seconds names the task, which goes on. Fields without effect are named in `x-genway-ignored`.',
    body: reader.body,
    answers: { 200: { description: 'The picture', content: json(IMAGES) } },
    refusals: ['bad_request', 'insufficient_credits', 'idempotency_conflict', 'processing_timeout'],
    presentError: presentTypedError,
    handle: async (request, services) => {
      const { caller, context } = request;
      const { socket } = context.req;
      const untilMs = context.state.receivedAtMs + MEDIA_WAIT_MS;
      const { fields, parameters, files, unused, identity } = await reader.read(request, services);
      reportUnused(context, unused);
      if (files.some(({ name }) => name === 'mask')) throw noMask();
      const images = files.map(({ url }) => url);
      const order = {
        ...parameters,
        model: fields.model,
        prompt: fields.prompt,
        ...(images.length > 0 && { images }),
        ...(fields.size !== undefined && fields.size !== 'auto' && { size: fields.size }),
        ...(fields.background !== undefined && { background: fields.background }),
      };
      const parse = () => services.parseImageRequest(order);
      const task = await taskOfRequest({ caller, context, body: identity, parse }, services, services.checkImageLinks);
      const { createdAt, output } = await untilSucceeded(task, { untilMs, socket }, services);
      const data = await Promise.all(
        (output ?? []).map((file) => present(file, fields.response_format, services.storage)),
      );
      return { created: Math.floor(createdAt.getTime() / 1000), data };
    },
  });
}

function noMask(): Error {
  return badRequest('"mask" is not supported by this model: describe in the prompt what to change');
}

export const generateImages = imageEndpoint({
  id: 'generateImages',
  path: '/v1/images/generations',
  summary: 'Create a picture, and wait for it',
  reader: mediaBody<ImageFields>('OpenAiImageGeneration', FIELDS, { unused: UNUSED }),
});

export const editImages = imageEndpoint({
  id: 'editImages',
  path: '/v1/images/edits',
  summary: 'Create a picture from others, and wait for it',
  reader: mediaBody<ImageFields>('OpenAiImageEdit', FIELDS, { unused: UNUSED, fileFields: ['image', 'mask'] }),
});

/** A larger picture is answered as a link only. */
const MAX_INLINE_BYTES = 24 * 2 ** 20;

async function present(
  { url }: GeneratedMedia,
  format: ImageFields['response_format'],
  storage: Pick<Storage, 'keyOf' | 'read'>,
): Promise<object> {
  if (format === 'url') return { url };
  const bytes = await bytesOf(url, storage);
  if (bytes === null) return { url };
  const b64_json = bytes.toString('base64');
  return format === 'b64_json' ? { b64_json } : { url, b64_json };
}

async function bytesOf(url: string, storage: Pick<Storage, 'keyOf' | 'read'>): Promise<Buffer | null> {
  const key = storage.keyOf(url);
  const body = key === null ? null : await storage.read(key);
  if (body === null) return null;
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes > MAX_INLINE_BYTES) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
