/** Checks the input fields that only one media model has. */
import Joi from 'joi';
import type { MediaModel } from '../../catalogue/types.ts';
import { badRequest } from '../../domain/errors.ts';
import { routesWith } from '../../domain/media-route.ts';
import { linksIn, type ModelParameters, type ParameterSchema, parametersIn } from '../../domain/model-parameters.ts';
import type { RenderInputs } from '../../domain/task.ts';
import type { MediaRequestContext } from './media-request.ts';
import { choice, freeText, link, linkList, list } from './validation.ts';

/** The keys that the parameters add to a body. */
export function parameterKeys(
  { properties, required }: ModelParameters,
  context: MediaRequestContext,
): Record<string, Joi.Schema> {
  return Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => {
      const { description, default: usual } = schema;
      const described =
        description === undefined ? checkOf(schema, context) : checkOf(schema, context).description(description);
      const key = usual === undefined ? described : described.default(usual);
      return [name, required.includes(name) ? key.required() : key];
    }),
  );
}

function checkOf(schema: ParameterSchema, context: MediaRequestContext): Joi.Schema {
  switch (schema.type) {
    case 'string':
      if (schema.format === 'uri') return link(context.isInputLink);
      if (schema.enum) return choice(schema.enum);
      return schema.minLength === 0
        ? freeText({ min: 0, max: schema.maxLength }).allow('')
        : freeText({ min: schema.minLength, max: schema.maxLength });
    case 'integer':
    case 'number':
      return numberOf(schema);
    case 'boolean':
      return Joi.boolean();
    case 'array': {
      const { items, minItems: min, maxItems: max } = schema;
      if (items.type === 'string' && items.format === 'uri') return linkList(max, context.isInputLink).min(min);
      return list(checkOf(items, context), { min, max });
    }
    default:
      return Joi.object(parameterKeys(schema, context));
  }
}

function numberOf({ type, enum: values, minimum, maximum }: Extract<ParameterSchema, { type: 'integer' | 'number' }>) {
  if (values) return Joi.valid(...values).messages({ 'any.only': `{{#label}} must be one of: [${values.join(' ')}]` });
  const bounded = Joi.number()
    .min(minimum ?? Number.MIN_SAFE_INTEGER)
    .max(maximum ?? Number.MAX_SAFE_INTEGER);
  return type === 'integer' ? bounded.integer() : bounded;
}

/**
 * The parameters of a checked body, with defaults.
 *
 * @throws ServiceError `bad_request` if no upstream of the model supports all of them
 */
export function chooseParameters(
  { id, parameters, routes }: MediaModel,
  body: object,
): Pick<RenderInputs, 'parameters' | 'parameterLinks'> {
  const values = parametersIn(body, parameters);
  if (values === undefined) return {};
  if (routesWith(routes, values, parameters).length === 0) {
    throw badRequest(`${id} cannot combine these fields: ${Object.keys(values).join(', ')}. Leave some out.`);
  }
  const links = linksIn(values, parameters);
  return { parameters: values, ...(links.length > 0 && { parameterLinks: links }) };
}
