/** The parameters in endpoint paths, such as `{task_id}`: their descriptions and the check of their values. */
import type Joi from 'joi';
import type { Caller } from '../../db/queries/api-keys.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { JsonSchema } from '../../domain/json-schema.ts';
import { notFoundError, type Resource } from '../../domain/not-found.ts';
import { toJsonSchema } from '../openapi/joi-schema.ts';
import { idText, storableText } from '../../services/input/validation.ts';

/** The names in a path: `account_id` of `/admin/v1/accounts/{account_id}/keys`. */
export type ParameterNames<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParameterNames<Rest>
  : never;

/** The values of the parameters, by name. Ids have been checked for the form of their kind. */
export type PathParameters<Path extends string> = Readonly<Record<ParameterNames<Path>, string>>;

interface ParameterDescription {
  readonly description: string;
  /** Absent for parameters that are not ids. */
  readonly id?: Resource;
}

/** Every path parameter, by name. */
const PATH_PARAMETERS: Readonly<Record<string, ParameterDescription>> = {
  task_id: { description: 'The `id` of a task', id: 'task' },
  batch_id: { description: 'The `id` of a batch', id: 'batch' },
  file_id: { description: 'The `id` of an uploaded file', id: 'file' },
  reconciliation_id: { description: 'The `id` of a reconciliation', id: 'reconciliation' },
  model_id: { description: 'The id of a model' },
  model: { description: 'The id of a text model' },
  // The endpoint first checks the credential.
  call_id: { description: 'The id of a call over WebRTC, from `Location`' },
  response_id: { description: 'The `id` of a response' },
  webhook_id: { description: 'The `id` of a webhook endpoint', id: 'webhookEndpoint' },
  delivery_id: { description: 'The `id` of a delivery', id: 'delivery' },
  account_id: { description: 'The `id` of an account', id: 'account' },
  key_id: { description: 'The `id` of an API key, not the key itself', id: 'apiKey' },
  document_id: { description: 'The `id` of a receipt, a credit note or an invoice', id: 'billingDocument' },
  budget_id: { description: 'The `id` of the budget of an end user', id: 'endUserBudget' },
  account_budget_id: { description: 'The `id` of the budget of an account', id: 'budget' },
  user_id: { description: 'The `id` of a user', id: 'user' },
  identity_id: { description: 'The `id` of an identity of the user' },
  session_id: { description: 'The `id` of a session of the user' },
  admin_token_id: { description: 'The `id` of an admin token, not the token itself', id: 'adminToken' },
  price_list: { description: 'The name of a price list' },
  gift_batch_id: { description: 'The `id` of a batch of gift codes', id: 'giftBatch' },
  registration_id: { description: 'The `id` of a registration', id: 'registration' },
  registration_block_id: { description: 'The `id` of a block of registrations', id: 'registrationBlock' },
  month: { description: 'A month in UTC, such as 2026-10' },
  vendor: { description: 'The name of a vendor that sends bills' },
  any_id: { description: 'An id of any kind' },
  upstream: { description: 'The name of an upstream in the configuration' },
  provider: { description: 'The name of the provider in the configuration' },
};

/** The parameter names in a path, in order. */
export function parameterNames(path: string): string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
}

/**
 * Reads the parameters of a path from a request.
 *
 * @param given the values, as the router found them
 * @param caller the account to search; null to search all accounts
 * @throws ServiceError `not_found` for a value that cannot be an id of its kind, or that PostgreSQL cannot store
 */
export type ReadPath<Path extends string> = (
  given: Readonly<Record<string, string>>,
  caller: Caller | null,
) => PathParameters<Path>;

/** Prepares a path once for all its requests. */
export function pathReader<Path extends string>(path: Path): ReadPath<Path> {
  const parameters = parameterNames(path).map((name) => ({ name, ...describedParameter(name) }));

  function isWhole(given: Readonly<Record<string, string>>): given is PathParameters<Path> {
    return parameters.every(({ name }) => name in given);
  }

  return (given, caller) => {
    if (!isWhole(given)) throw new Error(`${path} was matched without all of its parameters`);
    const wrong = parameters.find(({ name, schema }) => schema.validate(given[name]).error);
    if (wrong?.id !== undefined) throw notFoundError(wrong.id, caller);
    if (wrong) throw new ServiceError('not_found', `There is no such ${wrong.name}. Check the path.`);
    return given;
  };
}

/** The path parameters as OpenAPI describes them. */
export function describePath(path: string): JsonSchema[] {
  return parameterNames(path).map((name) => {
    const { description, schema } = describedParameter(name);
    return { name, in: 'path', required: true, description, schema: toJsonSchema(schema) };
  });
}

function describedParameter(name: string): ParameterDescription & { readonly schema: Joi.AnySchema<string> } {
  const parameter = PATH_PARAMETERS[name];
  if (parameter === undefined) throw new Error(`the path parameter ${name} is not described`);
  return { ...parameter, schema: parameter.id === undefined ? storableText() : idText(parameter.id) };
}
