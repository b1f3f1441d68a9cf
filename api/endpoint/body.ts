/** The bodies that endpoints take: what describes one also reads it. */
import type { IncomingMessage } from 'node:http';
import type Joi from 'joi';
import { BODIES } from '../../domain/policy.ts';
import { readJsonBody } from '../middlewares/json-body.ts';
import { toJsonSchema } from '../openapi/joi-schema.ts';
import { component, type JsonSchema } from '../openapi/json-schema.ts';
import { createValidator } from '../validation.ts';
import { json, type Content } from './answers.ts';

/** A body as OpenAPI describes it. */
export interface BodyDescription {
  readonly required: boolean;
  readonly content: Content;
}

export interface RequestBody<Body, Services = unknown> {
  /** Null for a body of which nobody has to know. */
  readonly description: BodyDescription | null;
  /** @throws ServiceError for a body that is too large, too slow or wrong */
  readonly read: (request: IncomingMessage, services: Services) => Promise<Body>;
}

/** Named examples as OpenAPI has them. */
export type Examples = Readonly<Record<string, { readonly value: object }>>;

/**
 * A JSON object that has to be sent.
 *
 * @param name of the schema in the API description
 * @param schema what checks the body, and describes it
 */
export function jsonBody<Body>(name: string, schema: Joi.ObjectSchema<Body>, examples?: Examples): RequestBody<Body> {
  const parse = createValidator(schema);
  return {
    description: { required: true, content: json(nameSchema(name, schema), examples) },
    read: async (request) => parse(await readJson(request)),
  };
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

/** JSON that some clients send although nothing is to be said: it is read, and has no effect. */
export const ignoredJsonBody: RequestBody<unknown> = { description: null, read: readJson };

/** @returns undefined when no body was sent */
async function readJson(request: IncomingMessage): Promise<unknown> {
  return (await readJsonBody(request, BODIES.common)).value;
}

function nameSchema(name: string, schema: Joi.Schema): JsonSchema {
  return component(name, () => toJsonSchema(schema));
}
