/** Counts the input tokens of a request: contract 4.8. */
import type { Caller } from '../../../db/queries/api-keys.ts';
import { ServiceError } from '../../../domain/errors.ts';
import { exactly, integer, object, ref } from '../../../domain/json-schema.ts';
import { type JsonObject, objectOf } from '../../../domain/json.ts';
import { BODIES } from '../../../domain/policy.ts';
import { FORMATS } from '../../../text/formats.ts';
import { readObject } from '../../../text/read.ts';
import type { ParseContext, WireFormat } from '../../../text/wire-format.ts';
import type { ApiServices } from '../../services.ts';
import type { RequestBody } from '../../endpoint/body.ts';
import { json } from '../../endpoint/answers.ts';
import { endpoint, endpoints, type RequestLine, type UnnamedEndpoint } from '../../endpoint/endpoint.ts';
import { refusalsIn } from '../../openapi/text.ts';
import { readJsonBody } from '../../middlewares/json-body.ts';
import type { Context } from '../../state.ts';
import { adoptedBody, chooseModel, compatibilityOf } from '../../../services/text/choose-model.ts';
import { mayRefer } from '../../../services/text/stored-responses.ts';

interface CountDefinition {
  readonly request: RequestLine;
  readonly format: WireFormat;
  /** The name of the body's schema in the API description. */
  readonly schema: string;
  /** Defaults for fields that the format requires and a count does not need. */
  readonly defaults: JsonObject;
  /** The fields of the answer beside the count. */
  readonly object?: string;
}

const DESCRIPTION =
  'Free. The header `x-genway-counted-by` is `model` if the model’s vendor counted, and `genway` for an estimate. ' +
  'A request is charged by the tokens that the model reports.';

/** @param schema the name of the body's schema in the API description */
function countBody(schema: string): RequestBody<JsonObject> {
  return {
    description: { required: true, content: json(ref(schema)) },
    read: async (request) => readObject((await readJsonBody(request, BODIES.text)).value, ''),
  };
}

/** Errors about the request have the format's envelope, all others that of its refusals. */
function presentErrorIn({ client }: WireFormat) {
  return (error: ServiceError, requestId: string): object =>
    error.code === 'bad_request' ? client.renderError(error, requestId) : client.renderRefusal(error, requestId);
}

/** The input tokens of a body in a format. Sets the header that names who counted. */
async function countIn(
  format: WireFormat,
  sent: JsonObject,
  parseContext: Pick<ParseContext, 'address'>,
  { caller, context }: { readonly caller: Caller; readonly context: Context },
  { catalogue, text }: ApiServices,
): Promise<number> {
  const compatibility = compatibilityOf(parseContext.address?.model ?? sent['model'], catalogue);
  const refers = mayRefer(format.name, compatibility);
  const { body } = refers
    ? await text.responses.complete(sent, caller.account.id)
    : { body: adoptedBody(format, sent, compatibility) };
  const parsed = format.client.parseRequest(body, { ...parseContext, compatibility });
  const { model, request } = chooseModel(format.name, body, parsed, caller.key, catalogue);
  const counted = { format, body, request, model, accountId: caller.account.id };
  const { tokens, countedBy } = await text.countInput(counted);
  context.set('x-genway-counted-by', countedBy);
  return tokens;
}

/** Defines a call that counts tokens: free, limited like reads, with the body of the format. */
function countEndpoint({ request, format, schema, defaults, object: kind }: CountDefinition): UnnamedEndpoint {
  const own = kind === undefined ? {} : { object: kind };
  return endpoint({
    request,
    access: 'any-key',
    isRead: true,
    summary: `Count the input tokens of a request in the ${format.name} format`,
    description: DESCRIPTION,
    body: countBody(schema),
    answers: {
      200: {
        description: 'The number of input tokens',
        content: json(object({ ...(kind !== undefined && { object: exactly(kind) }), input_tokens: integer() })),
      },
    },
    refusals: ['bad_request', 'not_found'],
    refusalsInFormat: refusalsIn(format.name),
    presentError: presentErrorIn(format),
    handle: async ({ body, ...request }, services) => {
      return { ...own, input_tokens: await countIn(format, { ...defaults, ...body }, {}, request, services) };
    },
  });
}

/** The request in the native format, or the contents alone, as Google's SDKs send them. */
function nativeRequestOf(body: JsonObject): JsonObject {
  const { model: _, ...request } = objectOf(body['generateContentRequest'] ?? body);
  return request;
}

const OTHER_COUNTS =
  'This model has no countTokens. Use POST /v1/messages/count_tokens or /v1/responses/input_tokens to count tokens.';

export const countTokensEndpoints = endpoints('Text', {
  countMessageTokens: countEndpoint({
    request: 'POST /v1/messages/count_tokens',
    format: FORMATS.messages,
    schema: 'MessagesCount',
    defaults: { max_tokens: 1 },
  }),
  countResponseTokens: countEndpoint({
    request: 'POST /v1/responses/input_tokens',
    format: FORMATS.responses,
    schema: 'ResponsesRequest',
    defaults: {},
    object: 'response.input_tokens',
  }),
  /** Counts for models with full compatibility; for other models, the specification has no such call. */
  countContentTokens: endpoint({
    request: 'POST /v1beta/models/{model}:countTokens',
    alias: '/v1/models/{model}:countTokens',
    access: 'any-key',
    isRead: true,
    summary: 'Count the input tokens of a request in the generate-content format',
    description: `${DESCRIPTION} Models with the compatibility \`specification\` answer 404.`,
    body: countBody('GenerateContentCount'),
    answers: {
      200: { description: 'The number of input tokens', content: json(object({ totalTokens: integer() })) },
    },
    refusals: ['bad_request', 'not_found'],
    refusalsInFormat: refusalsIn('generate-content'),
    presentError: presentErrorIn(FORMATS['generate-content']),
    handle: async ({ body: sent, params: { model }, ...request }, services) => {
      if (compatibilityOf(model, services.catalogue) !== 'full') throw new ServiceError('not_found', OTHER_COUNTS);
      const address = { model, stream: false };
      const body = nativeRequestOf(sent);
      return { totalTokens: await countIn(FORMATS['generate-content'], body, { address }, request, services) };
    },
  }),
});
