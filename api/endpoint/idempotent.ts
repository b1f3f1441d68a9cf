/** Endpoints that create a resource once, even if a client repeats the request under one key: contract 4.1. */
import { assertNotExhausted } from '../../domain/api-key.ts';
import { type JsonSchema, text } from '../../domain/json-schema.ts';
import { IDEMPOTENCY } from '../../domain/policy.ts';
import { type CreatedResponse, createOnce, type IdempotencyClaim } from '../../services/tasks/idempotency.ts';
import type { ApiServices } from '../services.ts';
import type { Context } from '../state.ts';
import type { Answer, Refusal } from './answers.ts';
import { type JsonBody, unchecked } from './body.ts';
import { type Definition, endpoint, type EndpointRequest, type RequestLine, type UnnamedEndpoint } from './endpoint.ts';

const IDEMPOTENCY_KEY: JsonSchema = {
  name: 'Idempotency-Key',
  in: 'header',
  description:
    `A key for the request. For ${IDEMPOTENCY.windowHours} hours, the same key with the same body returns the first answer and creates nothing. ` +
    'With another body, or while the first request runs, the call answers 409. Genway does not remember refused requests.',
  schema: text(undefined, { minLength: 1, maxLength: IDEMPOTENCY.maxKeyLength }),
};

export interface CreateRequest<Body> extends EndpointRequest<string, 'create-key', object> {
  readonly body: Body;
  /** The claim to complete in the transaction that creates the resource; null when the client sent no key. */
  readonly claim: IdempotencyClaim | null;
}

interface CreateDefinition<Body> extends Pick<
  Definition<RequestLine, 'create-key', object>,
  'request' | 'summary' | 'description'
> {
  readonly body: JsonBody<Body>;
  /** The answer to a request that created a resource. */
  readonly created: Answer;
  readonly refusals?: readonly Refusal[];
  readonly handle: (request: CreateRequest<Body>, services: ApiServices) => Promise<CreatedResponse>;
}

/**
 * Defines an endpoint that creates a resource. The key is claimed before the body is checked, so a repeated request
 * gets the first answer even if its body or its API key is no longer accepted.
 */
export function idempotentEndpoint<Body>(definition: CreateDefinition<Body>): UnnamedEndpoint {
  const { body, created, refusals = [], handle, ...head } = definition;
  return endpoint({
    ...head,
    access: 'create-key',
    headers: [IDEMPOTENCY_KEY],
    body: unchecked(body),
    answers: { 201: { ...created, headers: ['Idempotent-Replayed'] } },
    refusals: [...refusals, 'idempotency_conflict'],
    handle: async (request, services) => {
      const response = await createOnce(request, services, async (claim) => {
        assertNotExhausted(request.caller.key);
        return handle({ ...request, body: body.parse(request.body, services), claim }, services);
      });
      send(request.context, response);
    },
  });
}

function send(context: Context, { status, body }: CreatedResponse): void {
  context.status = status;
  context.type = 'application/json';
  context.body = body;
}
