/** Operations as a table row each, and what follows from a row: its parameters, its refusals and the headers of its answers. */
import type { Access } from '../endpoint/access.ts';
import { type Answers, type Examples, json, type RefusalStatus } from '../endpoint/answers.ts';
import type { BodyDescription } from '../endpoint/body.ts';
import { describePath } from '../endpoint/path.ts';
import type { JsonSchema } from './json-schema.ts';

export const TAGS = {
  'Media tasks': 'Create images and videos, and ask what became of them.',
  Files: 'Upload local inputs.',
  Models: 'The models that a key may call, with their limits and prices.',
  Text: 'Four formats in front of every text model. Answers come directly, whole or as a stream.',
  Webhooks: 'Where events are sent, what became of each delivery, and sending it again.',
  Account: 'What the account has and what it used.',
  Administration: 'For operators: accounts, money, keys, tasks.',
  Service: 'How the service is, and this description.',
} as const;

export type Tag = keyof typeof TAGS;

export type Method = 'get' | 'post' | 'patch' | 'delete';

export interface Operation {
  readonly method: Method;
  readonly path: string;
  readonly id: string;
  readonly tag: Tag;
  readonly summary: string;
  readonly description?: string;
  readonly access: Access;
  /** Headers and query; those of the path follow from it. */
  readonly parameters?: readonly JsonSchema[];
  readonly body?: BodyDescription;
  readonly answers: Answers;
  /** Refusals beside those that follow from `access` and `body`. */
  readonly refusals?: readonly RefusalStatus[];
  /** The refusals, by status, that have another envelope than the common one; names under `components.responses`. */
  readonly refusalsInFormat?: Readonly<Partial<Record<RefusalStatus, string>>>;
}

/** The names of the common refusals under `components.responses`. */
export const REFUSALS: Readonly<Record<RefusalStatus, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  402: 'PaymentRequired',
  403: 'Forbidden',
  404: 'NotFound',
  408: 'RequestTimeout',
  409: 'Conflict',
  413: 'ContentTooLarge',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'Unavailable',
};

const REFUSALS_OF_ACCESS: Readonly<Record<Access, readonly RefusalStatus[]>> = {
  key: [401, 403, 429],
  'any-key': [401, 403, 429],
  'text-key': [401, 403, 429],
  'messages-key': [401, 403, 429],
  'native-key': [401, 403, 429],
  admin: [401],
  metrics: [401],
  open: [],
};

/** Of what comes too slowly, or beside too much else. */
const REFUSALS_OF_BODIES: readonly RefusalStatus[] = [400, 408, 413, 503];

const SECURITY: Readonly<Record<Access, readonly JsonSchema[]>> = {
  key: [{ apiKey: [] }],
  'any-key': [{ apiKey: [] }, { messagesApiKey: [] }, { nativeApiKey: [] }],
  'text-key': [{ apiKey: [] }],
  'messages-key': [{ messagesApiKey: [] }, { apiKey: [] }],
  'native-key': [{ nativeApiKey: [] }, { apiKey: [] }, { nativeApiKeyParameter: [] }],
  admin: [{ adminToken: [] }],
  metrics: [{ metricsToken: [] }],
  open: [],
};

/** On every answer to a key. */
export const RATE_LIMIT_HEADERS = [
  'RateLimit-Limit',
  'RateLimit-Remaining',
  'RateLimit-Reset',
  'x-ratelimit-limit-requests',
  'x-ratelimit-remaining-requests',
  'x-ratelimit-reset-requests',
] as const;

/** The operation object of OpenAPI. */
export function renderOperation(operation: Operation): JsonSchema {
  const { id, tag, summary, description, access, body } = operation;
  const parameters = [...describePath(operation.path), ...(operation.parameters ?? [])];
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description !== undefined && { description }),
    security: SECURITY[access],
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: body }),
    responses: { ...renderAnswers(operation), ...renderRefusals(operation) },
  };
}

function renderAnswers({ answers, access }: Operation): JsonSchema {
  const counted = access.endsWith('key') ? RATE_LIMIT_HEADERS : [];
  return Object.fromEntries(
    Object.entries(answers).map(([status, { description, content, headers = [] }]) => [
      status,
      { description, headers: headersNamed(['x-request-id', ...counted, ...headers]), ...(content && { content }) },
    ]),
  );
}

function renderRefusals({ access, body, refusals = [], refusalsInFormat = {} }: Operation): JsonSchema {
  const statuses: RefusalStatus[] = [...REFUSALS_OF_ACCESS[access], ...(body ? REFUSALS_OF_BODIES : []), ...refusals];
  if (access !== 'open') statuses.push(500);
  return Object.fromEntries(
    statuses.map((status) => [
      status,
      { $ref: `#/components/responses/${refusalsInFormat[status] ?? REFUSALS[status]}` },
    ]),
  );
}

/** The headers object of a response: references by name. */
export function headersNamed(names: readonly string[]): JsonSchema {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

/** A body that has to be sent, as JSON. */
export function jsonBody(schema: JsonSchema, examples?: Examples): BodyDescription {
  return { required: true, content: json(schema, examples) };
}
