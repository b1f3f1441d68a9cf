/** Bodies of OpenAI's media endpoints: JSON, or a form with pictures to upload. */
import type { IncomingMessage } from 'node:http';
import Joi from 'joi';
import type { Catalogue } from '../../../catalogue/types.ts';
import { cutText } from '../../../domain/cut-text.ts';
import { badRequest } from '../../../domain/errors.ts';
import type { JsonObject } from '../../../domain/json.ts';
import { component } from '../../../domain/json-schema.ts';
import { type ModelParameters, NO_PARAMETERS, readParameter } from '../../../domain/model-parameters.ts';
import { BODIES } from '../../../domain/policy.ts';
import { json } from '../../endpoint/answers.ts';
import type { RequestBody } from '../../endpoint/body.ts';
import { readJsonBody } from '../../middlewares/json-body.ts';
import { toJsonSchema } from '../../openapi/joi-schema.ts';
import type { EndpointRequest } from '../../endpoint/endpoint.ts';
import type { ApiServices } from '../../services.ts';
import type { ArrivingFile } from '../../../services/tasks/uploads.ts';
import type { Context } from '../../state.ts';
import { createValidator, requireObject } from '../../../services/input/validation.ts';
import { type ReceivedForm, receiveForm, type StoredFile } from './receive-form.ts';

export interface MediaBody<Fields> {
  /** The fields of the body, without nulls, which SDKs send for defaults. */
  readonly fields: Fields;
  /** Fields that only the model has; pictures as links. */
  readonly parameters: JsonObject;
  readonly files: readonly StoredFile[];
  /** The names of fields that are set and have no effect. */
  readonly unused: readonly string[];
  /** The request that an `Idempotency-Key` identifies. */
  readonly identity: unknown;
}

interface JsonFields {
  readonly fields: JsonObject;
  readonly files: readonly [];
}

export interface MediaBodyReader<Fields> {
  readonly body: RequestBody<IncomingMessage>;
  /**
   * Reads the body, uploads the pictures of a form, and returns the result of `create`. Then removes the pictures that
   * no task used.
   *
   * @throws ServiceError
   */
  receive<Result>(
    request: EndpointRequest<string, 'key', object> & { body: IncomingMessage },
    services: ApiServices,
    create: (body: MediaBody<Fields>) => Promise<Result>,
  ): Promise<Result>;
}

/**
 * @param unused fields of the API that have no effect here; the answer names those that are set
 * @param fileFields the names of parts that may be pictures
 */
export function mediaBody<Fields>(
  name: string,
  fields: Readonly<Record<string, Joi.Schema>>,
  { unused = [], fileFields = [] }: { unused?: readonly string[]; fileFields?: readonly string[] },
): MediaBodyReader<Fields> {
  const schema: Joi.ObjectSchema<Fields> = Joi.object(fields);
  const validate = createValidator(schema);
  const files = Object.fromEntries(fileFields.map((field) => [field, { type: 'string', format: 'binary' }]));
  const described = toJsonSchema(schema);
  const ineffective = Object.fromEntries(unused.map((field) => [field, { description: 'Accepted without effect' }]));
  const properties = { ...Object(described['properties']), ...ineffective };
  const form = { ...described, properties: { ...properties, ...files } };

  function bodyOf(sent: ReceivedForm | JsonFields, isForm: boolean, catalogue: Catalogue): MediaBody<Fields> {
    const given = Object.fromEntries(Object.entries<unknown>(sent.fields).filter(([, value]) => value !== null));
    const { properties: ownProperties } = parametersOf(given['model'], catalogue);
    const isOwn = (field: string): boolean => Object.hasOwn(ownProperties, field) && !Object.hasOwn(fields, field);
    const [own, others] = divide(Object.entries(given), ([field]) => isOwn(field));
    const [ownFiles, pictures] = divide(sent.files, ({ name: part }) => isOwn(part));
    const unknown = pictures.find(({ name: part }) => !fileFields.includes(part));
    if (unknown !== undefined) throw badRequest(`unknown field: ${cutText(unknown.name, 100)}`);
    const ignored = unused.filter((field) => !isOwn(field));
    return {
      fields: validate(Object.fromEntries(others.filter(([field]) => !ignored.includes(field)))),
      parameters: Object.fromEntries([
        ...own.map(([field, value]) => [field, isForm ? readParameter(value, ownProperties[field]) : value]),
        ...ownFiles.map(({ name: part, url }) => [part, url]),
      ]),
      files: pictures,
      unused: ignored.filter((field) => given[field] !== undefined),
      identity: { fields: given, files: sent.files.map(({ name: part, digest }) => [part, digest]) },
    };
  }

  return {
    body: {
      description: {
        required: true,
        content: {
          ...json(component(name, { ...described, properties })),
          ...(fileFields.length > 0 && { 'multipart/form-data': { schema: component(`${name}Form`, form) } }),
        },
      },
      read: async (request) => request,
    },
    receive: async ({ body: request, caller }, services, create) => {
      const ids: string[] = [];
      const upload = async (file: ArrivingFile): Promise<string> => {
        const { id, storageKey } = await services.tasks.uploads.store(caller, file);
        ids.push(id);
        return services.storage.urlOf(storageKey);
      };
      const isForm = fileFields.length > 0 && /^multipart\//i.test(request.headers['content-type'] ?? '');
      try {
        const sent: ReceivedForm | JsonFields = isForm
          ? await receiveForm(request, upload)
          : { fields: requireObject((await readJsonBody(request, BODIES.common)).value), files: [] };
        return await create(bodyOf(sent, isForm, services.catalogue));
      } finally {
        // A repeated request gets the task of the first one, which used its own uploads. Uploads that are not removed
        // now are swept later.
        if (ids.length > 0) {
          await services.tasks.uploads.remove(caller.account.id, ids, { onlyUnused: true }).catch(() => {});
        }
      }
    },
  };
}

function parametersOf(id: unknown, { imageModels, videoModels }: Catalogue): ModelParameters {
  if (typeof id !== 'string') return NO_PARAMETERS;
  return (imageModels.get(id) ?? videoModels.get(id))?.parameters ?? NO_PARAMETERS;
}

/** The items that fulfil a condition, and the others. */
function divide<Item>(items: readonly Item[], fulfils: (item: Item) => boolean): readonly [Item[], Item[]] {
  return [items.filter(fulfils), items.filter((item) => !fulfils(item))];
}

/** Names the fields without effect in the answer's headers. */
export function reportUnused(context: Context, unused: readonly string[]): void {
  if (unused.length > 0) context.set('x-genway-ignored', unused.join(', '));
}
