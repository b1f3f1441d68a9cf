/** Shared parts of the create calls for videos and images. */
import Joi from 'joi';
import type { Catalogue, MediaModel } from '../catalogue/types.ts';
import { endUserName } from '../domain/end-user.ts';
import { badRequest } from '../domain/errors.ts';
import { component, type JsonSchema } from '../domain/json-schema.ts';
import { catalogueComponent } from './openapi/components.ts';
import { toJsonSchema } from './openapi/joi-schema.ts';
import { createValidator, requireObject } from '../services/input/validation.ts';

/** The functions that a check needs. */
export interface MediaRequestContext {
  /** Whether a text is, by its syntax, a link that upstreams and the gateway may follow. */
  readonly isInputLink: (text: string) => boolean;
}

/** The fields of all models. */
export interface CommonFields {
  readonly user?: string | null;
}

export const COMMON_FIELDS = {
  user: Joi.string().allow('', null).description('The name of the end user, for usage and budgets'),
};

/** The end user whom a body names; null for none. */
export function endUserOf({ user }: CommonFields): string | null {
  return user ? endUserName(user) : null;
}

/** The differences between the create calls for videos and for images. */
interface MediaRequestKind<Model extends MediaModel, Body, Request> {
  readonly models: ReadonlyMap<string, Model>;
  /** The endpoint of the other kind of models. */
  readonly otherEndpoint: { readonly models: ReadonlyMap<string, MediaModel>; readonly endpoint: string };
  readonly schemaOf: (model: Model, context: MediaRequestContext) => Joi.ObjectSchema<Body>;
  /** Fills in the model's defaults. */
  readonly complete: (model: Model, body: Body) => Request;
}

/**
 * Creates the check of create calls for one kind of models.
 *
 * @returns a function from a parsed JSON body to the request with its defaults; throws ServiceError `bad_request`
 */
export function createMediaRequestParser<Model extends MediaModel, Body, Request>(
  { models, otherEndpoint, schemaOf, complete }: MediaRequestKind<Model, Body, Request>,
  context: MediaRequestContext,
): (body: unknown) => Request {
  const parsers = new Map(
    [...models].map(([id, model]) => {
      const validate = createValidator(schemaOf(model, context), { model: id, names: model.unsupportedFields });
      return [id, (body: unknown) => complete(model, validate(body))];
    }),
  );
  return (body) => {
    const given = requireObject(body);
    const id = Object.hasOwn(given, 'model') ? given['model'] : undefined;
    if (id === undefined) throw badRequest('"model" is required');
    if (typeof id !== 'string') throw badRequest('"model" must be a string');
    if (otherEndpoint.models.has(id)) {
      throw badRequest(`"model" ${id} is served by ${otherEndpoint.endpoint}, not this endpoint`);
    }
    const parse = parsers.get(id);
    if (parse === undefined) throw badRequest(`"model" must be one of: [${[...parsers.keys()].join(' ')}]`);
    return parse(body);
  };
}

/** Accepts any link. For descriptions of schemas, which check no body. */
export const ANY_LINK: MediaRequestContext = { isInputLink: () => true };

/**
 * Adds the bodies of a create call to the API description: one schema for each model, and one for all models.
 *
 * @param schemaOf the check of a model's bodies
 */
export function describeByModel<Model extends MediaModel>(
  name: string,
  modelsOf: (catalogue: Catalogue) => ReadonlyMap<string, Model>,
  schemaOf: (model: Model, context: MediaRequestContext) => Joi.ObjectSchema,
): JsonSchema {
  return catalogueComponent(name, (catalogue) => {
    const models = [...modelsOf(catalogue)];
    if (models.length === 0) return { not: {}, description: 'No such model' };
    const schemas = models.map(
      ([id, model]) => [id, component(`${name}.${id}`, toJsonSchema(schemaOf(model, ANY_LINK)))] as const,
    );
    const mapping = Object.fromEntries(schemas.map(([id, { $ref }]) => [id, $ref]));
    return { oneOf: schemas.map(([, schema]) => schema), discriminator: { propertyName: 'model', mapping } };
  });
}
