/** Operations of the API description, with the refusals, credentials and headers that follow from an endpoint. */
import { ADMIN_ROLES, type AdminRole } from '../../domain/roles.ts';
import type { JsonSchema } from '../../domain/json-schema.ts';
import { type Access, ROLES } from '../endpoint/access.ts';
import type { Answers, Content, RefusalStatus } from '../endpoint/answers.ts';
import { describePath } from '../endpoint/path.ts';

export const TAGS = {
  Batches: 'Run thousands of text requests within a day.',
  'Media tasks': 'Create images and videos, and poll for their results.',
  Capabilities: 'Find a model by capability, read its inputs, and run the model.',
  'OpenAI media': 'Image and video tasks through the endpoints of OpenAI.',
  Moderation: 'Judge texts and images.',
  Files: 'Upload local inputs.',
  Models: 'The models, limits and prices of a key.',
  Text: 'Four formats for every text model. Answers are direct: whole or streamed.',
  Realtime: 'Conversations by voice and text over one connection.',
  Webhooks: 'Endpoints for events, the state of each delivery, and redelivery.',
  'Webhook events': 'What Genway sends to endpoints.',
  Account: 'The balance and usage of the account.',
  Administration: 'For operators: accounts, money, keys and tasks.',
  Service: 'Health, metrics and this description.',
} as const;

export type Tag = keyof typeof TAGS;

export type Method = 'get' | 'post' | 'patch' | 'delete';

/** A body as OpenAPI describes it. */
export interface BodyDescription {
  readonly required: boolean;
  readonly content: Content;
}

export interface Operation {
  readonly method: Method;
  readonly path: string;
  readonly id: string;
  readonly tag: Tag;
  readonly summary: string;
  readonly description?: string;
  readonly access: Access;
  /** Whether the operation changes nothing and costs nothing, although its method suggests a change. */
  readonly isRead?: boolean;
  /** Headers and query parameters; path parameters follow from the path. */
  readonly parameters: readonly JsonSchema[];
  readonly body?: BodyDescription;
  readonly answers: Answers;
  /** Refusals that do not follow from `access` and `body`. */
  readonly refusals: readonly RefusalStatus[];
  /** Refusals that do not use the common envelope, by status; names under `components.responses`. */
  readonly refusalsInFormat?: Readonly<Partial<Record<RefusalStatus, string>>>;
}

/** Names of the common refusals under `components.responses`. */
export const REFUSALS: Readonly<Record<RefusalStatus, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  402: 'PaymentRequired',
  403: 'Forbidden',
  404: 'NotFound',
  408: 'RequestTimeout',
  409: 'Conflict',
  410: 'Gone',
  413: 'ContentTooLarge',
  426: 'UpgradeRequired',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'Unavailable',
};

/** Headers of every answer to a key. */
export const RATE_LIMIT_HEADERS = [
  'RateLimit-Limit',
  'RateLimit-Remaining',
  'RateLimit-Reset',
  'x-ratelimit-limit-requests',
  'x-ratelimit-remaining-requests',
  'x-ratelimit-reset-requests',
] as const;

/** The description of an access rule. */
interface AccessDescription {
  /** Any one of these credentials is enough. */
  readonly security: readonly JsonSchema[];
  readonly refusals: readonly RefusalStatus[];
  /** Headers of every answer. */
  readonly headers: readonly string[];
}

function withKeyIn(...schemes: readonly string[]): AccessDescription {
  const security = schemes.map((scheme) => ({ [scheme]: [] }));
  return { security, refusals: [401, 403, 429, 500], headers: RATE_LIMIT_HEADERS };
}

function withToken(scheme: string): AccessDescription {
  return { security: [{ [scheme]: [] }], refusals: [401, 500], headers: [] };
}

/** @param roles the roles of which a token needs one */
function withRole(roles: readonly AdminRole[]): AccessDescription {
  const refusals: RefusalStatus[] = roles.length < ADMIN_ROLES.length ? [401, 403, 500] : [401, 500];
  return { security: roles.map((role) => ({ adminToken: [role] })), refusals, headers: [] };
}

const ACCESS: Readonly<Record<Access, AccessDescription>> = {
  key: withKeyIn('apiKey'),
  'create-key': withKeyIn('apiKey'),
  'any-key': withKeyIn('apiKey', 'messagesApiKey', 'nativeApiKey'),
  'text-key': withKeyIn('apiKey'),
  'messages-key': withKeyIn('messagesApiKey', 'apiKey'),
  'native-key': withKeyIn('nativeApiKey', 'apiKey', 'nativeApiKeyParameter'),
  'realtime-key': withKeyIn('apiKey'),
  realtime: withKeyIn('apiKey'),
  admin: withRole(ROLES.admin),
  'admin-finance': withRole(ROLES['admin-finance']),
  'admin-read': withRole(ROLES['admin-read']),
  metrics: withToken('metricsToken'),
  open: { security: [], refusals: [], headers: [] },
};

/** The refusals of bodies that are invalid, too slow, too large, or over the memory limit. */
const REFUSALS_OF_BODIES: readonly RefusalStatus[] = [400, 408, 413, 503];

/** Operation objects by method, by path or by type of event. */
export type PathItems = Readonly<Record<string, Readonly<Record<string, JsonSchema>>>>;

/** The operation object of OpenAPI. */
export function renderOperation(operation: Operation): JsonSchema {
  const { id, tag, summary, description, access, body } = operation;
  const parameters = [...describePath(operation.path), ...operation.parameters];
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description !== undefined && { description }),
    security: ACCESS[access].security,
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: body }),
    responses: { ...renderAnswers(operation), ...renderRefusals(operation) },
  };
}

function renderAnswers({ answers, access }: Operation): JsonSchema {
  return Object.fromEntries(
    Object.entries(answers).map(([status, { description, content, headers = [] }]) => [
      status,
      {
        description,
        headers: headersNamed(['x-request-id', ...ACCESS[access].headers, ...headers]),
        ...(content && { content }),
      },
    ]),
  );
}

function renderRefusals({ access, body, refusals, refusalsInFormat = {} }: Operation): JsonSchema {
  const statuses = [...ACCESS[access].refusals, ...(body ? REFUSALS_OF_BODIES : []), ...refusals];
  return Object.fromEntries(
    statuses.map((status) => [
      status,
      { $ref: `#/components/responses/${refusalsInFormat[status] ?? REFUSALS[status]}` },
    ]),
  );
}

/** The headers object of a response, as references. */
export function headersNamed(names: readonly string[]): JsonSchema {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}
