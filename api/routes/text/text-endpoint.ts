/** What the text endpoints have in common: contract 4.8. */
import { presentError } from '../../../domain/error-envelope.ts';
import { ref } from '../../../domain/json-schema.ts';
import type { JsonObject } from '../../../domain/json.ts';
import type { WireFormat } from '../../../text/wire-format.ts';
import { json } from '../../endpoint/answers.ts';
import type { RequestBody } from '../../endpoint/body.ts';
import { type Definition, endpoint, type Endpoint, type EndpointRequest } from '../../endpoint/endpoint.ts';
import { refusalsIn } from '../../openapi/text.ts';
import type { TextAsk } from '../../text/admit.ts';

type TextAccess = 'text-key' | 'messages-key' | 'native-key';
type Shared = 'id' | 'path' | 'access' | 'summary' | 'description' | 'headers' | 'query' | 'answers';

interface TextDefinition<Path extends string, Query extends object> extends Pick<
  Definition<Path, TextAccess, Query>,
  Shared
> {
  readonly format: WireFormat;
  readonly body: RequestBody<void>;
  /** What the request says beside its body. @throws ServiceError for what is missing there */
  readonly read?: (
    request: EndpointRequest<Path, TextAccess, Query>,
  ) => Partial<Pick<TextAsk, 'parseContext' | 'streamsArray'>>;
}

/**
 * Defines an endpoint of a text format. Errors have the common envelope before the model is called, but for what is wrong with
 * the request; these, and all from then on, have that of the format (contract 7.1).
 */
export function textEndpoint<const Path extends string, Query extends object = object>({
  format,
  read = () => ({}),
  ...definition
}: TextDefinition<Path, Query>): Endpoint {
  const defined = endpoint({
    ...definition,
    tag: 'Text',
    method: 'post',
    refusals: ['insufficient_credits', 'not_found', 'processing_unavailable'],
    handle: (request, { text }) => {
      const { caller, context } = request;
      return text.serve({ caller, context, format, parseContext: {}, streamsArray: false, ...read(request) });
    },
  });
  return {
    ...defined,
    refusalsInFormat: refusalsIn(format.name),
    serve: (context, services) => {
      context.state.presentError = (error, requestId) =>
        error.code === 'bad_request' ? format.client.renderError(error, requestId) : presentError(error, requestId);
      return services.text.track(defined.serve(context, services));
    },
  };
}

/** A body that is read once it is known who pays for it. @param schema its name in the API description */
export function textBody(schema: string, example: JsonObject): RequestBody<void> {
  return {
    description: { required: true, content: json(ref(schema), { text: { value: example } }) },
    read: async () => {},
  };
}
