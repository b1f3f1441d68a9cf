/** Shared parts of the create calls for videos and images. */
import Joi from 'joi';
import type { MediaModel } from '../../catalogue/types.ts';
import { endUserName } from '../../domain/end-user.ts';
import { badRequest } from '../../domain/errors.ts';
import { createValidator, requireObject } from './validation.ts';

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
