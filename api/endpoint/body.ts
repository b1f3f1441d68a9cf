/** Request bodies. One definition both describes a body and reads it. */
import type { IncomingMessage } from 'node:http';
import type Joi from 'joi';
import { ANY_OBJECT, component, type JsonSchema } from '../../domain/json-schema.ts';
import { BODIES } from '../../domain/policy.ts';
import { type BodyLimits, readBody, readJsonBody } from '../middlewares/json-body.ts';
import { toJsonSchema } from '../openapi/joi-schema.ts';
import type { BodyDescription } from '../openapi/operation.ts';
import type { ApiServices } from '../services.ts';
import { createValidator } from '../../services/input/validation.ts';
import { type Examples, json } from './answers.ts';

export interface RequestBody<Body> {
  /** Null for a body that is left out of the API description. */
  readonly description: BodyDescription | null;
  /** @throws ServiceError for a body that is too large, too slow or wrong */
  readonly read: (request: IncomingMessage, services: ApiServices) => Promise<Body>;
}

/** A JSON body that can be read before it is checked. */
export interface JsonBody<Body> extends RequestBody<Body> {
  /** Checks the body. @throws ServiceError `bad_request` */
  readonly parse: (value: unknown, services: ApiServices) => Body;
}

/**
 * A required JSON object.
 *
 * @param name the name of the schema in the API description
 * @param schema checks the body and describes it
 */
export function jsonBody<Body>(
  name: string,
  schema: Joi.ObjectSchema<Body>,
  examples?: Examples,
  limits: BodyLimits = BODIES.common,
): JsonBody<Body> {
  return jsonBodyOf(nameSchema(name, schema), createValidator(schema), examples, limits);
}

/**
 * A required JSON object whose check depends on the service's configuration.
 *
 * @param schema describes it
 * @param parse checks it; throws ServiceError `bad_request`
 */
export function jsonBodyOf<Body>(
  schema: JsonSchema,
  parse: (value: unknown, services: ApiServices) => Body,
  examples?: Examples,
  limits: BodyLimits = BODIES.common,
): JsonBody<Body> {
  return {
    description: { required: true, content: json(schema, examples) },
    parse,
    read: async (request, services) => parse(await readJson(request, limits), services),
  };
}

/** An unchecked body, with the description of its later check. */
export function unchecked({ description }: JsonBody<unknown>): RequestBody<unknown> {
  return { description, read: (request) => readJson(request) };
}

/** An optional JSON object; leaving it out is the same as sending an empty one. */
export function optionalJsonBody<Body>(name: string, schema: Joi.ObjectSchema<Body>): RequestBody<Body> {
  const parse = createValidator(schema);
  return {
    description: { required: false, content: json(nameSchema(name, schema)) },
    read: async (request) => {
      const value = await readJson(request);
      return parse(value === undefined ? {} : value);
    },
  };
}

/** Generous: events and jobs with their results are far smaller. */
const MAX_SIGNED_BYTES = 256 * 1024;

/** Signed JSON. The handler reads the body after it has found the configuration of the sender. */
export function signedBody(): RequestBody<() => Promise<Buffer>> {
  return {
    description: { required: true, content: json(ANY_OBJECT) },
    read: async (request) => () => readBody(request, MAX_SIGNED_BYTES),
  };
}

/** A JSON body that some clients send needlessly. It is read and ignored. */
export const ignoredJsonBody: RequestBody<unknown> = { description: null, read: (request) => readJson(request) };

/** @returns undefined when no body was sent */
async function readJson(request: IncomingMessage, limits: BodyLimits = BODIES.common): Promise<unknown> {
  return (await readJsonBody(request, limits)).value;
}

function nameSchema(name: string, schema: Joi.Schema): JsonSchema {
  return component(name, toJsonSchema(schema));
}
