/** Answers and refusals of endpoints, as the API description shows them. */
import { ERRORS, type ErrorCode } from '../../domain/errors.ts';
import { type Fields, type JsonSchema, object, text } from '../../domain/json-schema.ts';

/** A body by media type. */
export type Content = Readonly<Record<string, JsonSchema>>;

/** Named OpenAPI examples. */
export type Examples = Readonly<Record<string, { readonly value: object }>>;

export interface Answer {
  readonly description: string;
  /** Absent when there is no body. */
  readonly content?: Content;
  /** Headers beyond the common ones; names under `components.headers`. */
  readonly headers?: readonly string[];
}

/** The successful answers of an endpoint, by status. */
export type Answers = Readonly<Record<number, Answer>>;

/** A JSON body, of a request or an answer. */
export function json(schema: JsonSchema, examples?: Examples): Content {
  return { 'application/json': { schema, ...(examples && { examples }) } };
}

/** A stream as a text. Without a schema, generators read an object without fields, which hides the whole answer's. */
export const EVENT_STREAM: Content = { 'text/event-stream': { schema: { type: 'string' } } };

/** A body `{data: …}`. */
export function dataOf(schema: JsonSchema, description: string, examples?: Examples): Answer {
  return { description, content: json(object({ data: schema }), examples) };
}

/** A body `{data: …}` that repeats the fields of `data` at the top, where OpenAI's SDKs look for them. */
export function dataAndFieldsOf(
  { schemas, schema }: { readonly schemas: Fields; readonly schema: JsonSchema },
  description: string,
): Answer {
  return { description, content: json(object({ ...schemas, data: schema })) };
}

/** An answer that is also available as plain text. */
export function withPlainText(answer: Answer): Answer {
  return { ...answer, content: { ...answer.content, 'text/plain': { schema: text() } } };
}

export const REFUSAL_STATUSES = [400, 401, 402, 403, 404, 408, 409, 410, 413, 426, 429, 500, 503] as const;
export type RefusalStatus = (typeof REFUSAL_STATUSES)[number];

/** The error codes with which an endpoint may refuse a request. */
export type Refusal = {
  [Code in ErrorCode]: (typeof ERRORS)[Code]['status'] extends RefusalStatus | null ? Code : never;
}[ErrorCode];

/** The status of an error in the API description; a wrong signature is documented like a wrong key. */
export function statusOf(refusal: Refusal): RefusalStatus {
  return ERRORS[refusal].status ?? 401;
}
