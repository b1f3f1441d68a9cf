/** The bodies that endpoints take: what describes one also reads it. */
import type { IncomingMessage } from 'node:http';
import type Joi from 'joi';
import type { JsonSchema } from '../../domain/json-schema.ts';
import { BODIES } from '../../domain/policy.ts';
import { readBody, readJsonBody } from '../middlewares/json-body.ts';
import { toJsonSchema } from '../openapi/joi-schema.ts';
import { component } from '../openapi/json-schema.ts';
import type { BodyDescription } from '../openapi/operation.ts';
import type { ApiServices } from '../services/services.ts';
import { createValidator } from '../validation.ts';
import { type Examples, json } from './answers.ts';

export interface RequestBody<Body> {
  /** Null for a body of which nobody has to know. */
  readonly description: BodyDescription | null;
  /** @throws ServiceError for a body that is too large, too slow or wrong */
  readonly read: (request: IncomingMessage, services: ApiServices) => Promise<Body>;
}

/** A JSON body, which can be read without being checked. */
export interface JsonBody<Body> extends RequestBody<Body> {
  /** Checks what was read. @throws ServiceError `bad_request` */
  readonly parse: (value: unknown, services: ApiServices) => Body;
}

/**
 * A JSON object that has to be sent.
 *
 * @param name of the schema in the API description
 * @param schema what checks the body, and describes it
 */
export function jsonBody<Body>(name: string, schema: Joi.ObjectSchema<Body>, examples?: Examples): JsonBody<Body> {
  return jsonBodyOf(nameSchema(name, schema), createValidator(schema), examples);
}

/**
 * A JSON object that has to be sent, whose check depends on how the service is configured.
 *
 * @param schema what describes it
 * @param parse what checks it; throws ServiceError `bad_request`
 */
export function jsonBodyOf<Body>(
  schema: JsonSchema,
  parse: (value: unknown, services: ApiServices) => Body,
  examples?: Examples,
): JsonBody<Body> {
  return {
    description: { required: true, content: json(schema, examples) },
    parse,
    read: async (request, services) => parse(await readJson(request), services),
  };
}

/** A body as it was sent, described by what will check it. */
export function unchecked({ description }: JsonBody<unknown>): RequestBody<unknown> {
  return { description, read: readJson };
}

/** A JSON object that may be left out, which is the same as an empty one. */
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

/** JSON whose bytes are signed: read when the handler asks for them, once it knows that it would believe the sender. */
export function signedBody(maxBytes: number): RequestBody<() => Promise<Buffer>> {
  return {
    description: { required: true, content: json({ type: 'object' }) },
    read: async (request) => () => readBody(request, maxBytes),
  };
}

/** JSON that some clients send although nothing is to be said: it is read, and has no effect. */
export const ignoredJsonBody: RequestBody<unknown> = { description: null, read: readJson };

/** @returns undefined when no body was sent */
async function readJson(request: IncomingMessage): Promise<unknown> {
  return (await readJsonBody(request, BODIES.common)).value;
}

function nameSchema(name: string, schema: Joi.Schema): JsonSchema {
  return component(name, () => toJsonSchema(schema));
}
