/** What endpoints answer, and how they refuse, as the API description says it. */
import { ERRORS, type ErrorCode } from '../../domain/errors.ts';
import type { JsonSchema } from '../../domain/json-schema.ts';
import { object } from '../openapi/json-schema.ts';

/** A body by media type. */
export type Content = Readonly<Record<string, JsonSchema>>;

/** Named examples as OpenAPI has them. */
export type Examples = Readonly<Record<string, { readonly value: object }>>;

export interface Answer {
  readonly description: string;
  /** Absent where there is no body. */
  readonly content?: Content;
  /** Headers beside those that every answer has; names under `components.headers`. */
  readonly headers?: readonly string[];
}

/** The answers of an endpoint that are no refusals, by status. */
export type Answers = Readonly<Record<number, Answer>>;

/** A JSON body, asked for or answered. */
export function json(schema: JsonSchema, examples?: Examples): Content {
  return { 'application/json': { schema, ...(examples && { examples }) } };
}

/** A body `{data: …}`. */
export function dataOf(schema: JsonSchema, description: string, examples?: Examples): Answer {
  return { description, content: json(object({ data: schema }), examples) };
}

export const REFUSAL_STATUSES = [400, 401, 402, 403, 404, 408, 409, 413, 429, 500, 503] as const;
export type RefusalStatus = (typeof REFUSAL_STATUSES)[number];

/** The codes of errors with which an endpoint may refuse a request. */
export type Refusal = {
  [Code in ErrorCode]: (typeof ERRORS)[Code]['status'] extends RefusalStatus | null ? Code : never;
}[ErrorCode];

/** The status that an error has in the API description; a wrong signature is refused like a wrong key. */
export function statusOf(refusal: Refusal): RefusalStatus {
  return ERRORS[refusal].status ?? 401;
}
