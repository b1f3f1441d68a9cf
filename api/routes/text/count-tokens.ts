/** Counts the input tokens of a request: contract 4.8. */
import { exactly, integer, object, ref } from '../../../domain/json-schema.ts';
import type { JsonObject } from '../../../domain/json.ts';
import { BODIES } from '../../../domain/policy.ts';
import { FORMATS } from '../../../text/formats.ts';
import { readObject } from '../../../text/read.ts';
import type { WireFormat } from '../../../text/wire-format.ts';
import { json } from '../../endpoint/answers.ts';
import { endpoint, type RequestLine, type UnnamedEndpoint } from '../../endpoint/endpoint.ts';
import { refusalsIn } from '../../openapi/text.ts';
import { readJsonBody } from '../../middlewares/json-body.ts';
import { chooseModel, compatibilityOf } from '../../text/choose-model.ts';

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

/** Defines a call that counts tokens: free, limited like reads, with the body of the format. */
function countEndpoint({ request, format, schema, defaults, object: kind }: CountDefinition): UnnamedEndpoint {
  const own = kind === undefined ? {} : { object: kind };
  const defined = endpoint({
    tag: 'Text',
    request,
    access: 'any-key',
    isRead: true,
    summary: `Count the input tokens of a request in the ${format.name} format`,
    description:
      'Free. The header `x-genway-counted-by` is `model` if the model’s vendor counted, and `genway` for an estimate. ' +
      'A request is charged by the tokens that the model reports.',
    body: {
      description: { required: true, content: json(ref(schema)) },
      read: async (request) => readObject((await readJsonBody(request, BODIES.text)).value, ''),
    },
    answers: {
      200: {
        description: 'The number of input tokens',
        content: json(object({ ...(kind !== undefined && { object: exactly(kind) }), input_tokens: integer() })),
      },
    },
    refusals: ['bad_request', 'not_found'],
    presentError: (error, requestId) =>
      error.code === 'bad_request'
        ? format.client.renderError(error, requestId)
        : format.client.renderRefusal(error, requestId),
    handle: async ({ caller, body: sent, context }, { catalogue, text }) => {
      const compatibility = compatibilityOf(sent['model'], catalogue);
      const body = { ...defaults, ...sent };
      const parsed = format.client.parseRequest(body, { compatibility });
      const { model, request } = chooseModel(format.name, body, parsed, caller.key, catalogue);
      const counted = { format, body, request, model, accountId: caller.account.id };
      const { tokens, countedBy } = await text.countInput(counted);
      context.set('x-genway-counted-by', countedBy);
      return { ...own, input_tokens: tokens };
    },
  });
  return (id) => ({ ...defined(id), refusalsInFormat: refusalsIn(format.name) });
}

export const countMessageTokens = countEndpoint({
  request: 'POST /v1/messages/count_tokens',
  format: FORMATS.messages,
  schema: 'MessagesCount',
  defaults: { max_tokens: 1 },
});

export const countResponseTokens = countEndpoint({
  request: 'POST /v1/responses/input_tokens',
  format: FORMATS.responses,
  schema: 'ResponsesRequest',
  defaults: {},
  object: 'response.input_tokens',
});
