/** Shared parts of the text endpoints: contract 4.8. */
import { ref } from '../../../domain/json-schema.ts';
import type { JsonObject } from '../../../domain/json.ts';
import type { SingleFormat, WireFormat } from '../../../text/wire-format.ts';
import { json } from '../../endpoint/answers.ts';
import type { RequestBody } from '../../endpoint/body.ts';
import {
  type Definition,
  endpoint,
  type EndpointRequest,
  type RequestLine,
  type UnnamedEndpoint,
} from '../../endpoint/endpoint.ts';
import { receiveAudio } from '../../receive-audio.ts';
import { readJsonBody } from '../../middlewares/json-body.ts';
import { refusalsIn } from '../../openapi/text.ts';
import type { Context } from '../../state.ts';
import type { IncomingTextRequest } from '../../../services/text/admit.ts';
import { countNow, type ReceiveBody } from '../../../services/text/client-exchange.ts';

type TextAccess = 'text-key' | 'messages-key' | 'native-key';
type Shared = 'request' | 'alias' | 'access' | 'summary' | 'description' | 'headers' | 'query' | 'answers';

interface TextDefinition<Path extends RequestLine, Query extends object> extends Pick<
  Definition<Path, TextAccess, Query>,
  Shared
> {
  readonly format: WireFormat | SingleFormat;
  readonly body: RequestBody<void>;
  /** Whether the body is a form with a file of audio. */
  readonly hasFile?: boolean;
  /** Reads the path and headers of the request. @throws ServiceError if a required value is missing */
  readonly read?: (
    request: EndpointRequest<Path, TextAccess, Query>,
  ) => Partial<Pick<IncomingTextRequest, 'parseContext' | 'streamsArray'>>;
}

/**
 * Defines an endpoint of a text format. Until the model is called, errors have the common envelope, except those about
 * the request itself; these, and all later ones, have the format's envelope (contract 7.1).
 */
export function textEndpoint<const Path extends RequestLine, Query extends object = object>({
  format,
  read = () => ({}),
  hasFile = false,
  ...definition
}: TextDefinition<Path, Query>): UnnamedEndpoint {
  const unnamed = endpoint({
    ...definition,
    refusalsInFormat: refusalsIn(format.name),
    refusals: ['insufficient_credits', 'not_found', 'processing_unavailable'],
    handle: async (request, { text }) => {
      const { caller, context } = request;
      if (hasFile) {
        // Prevents a key beyond its limit from sending a file.
        await countNow(context);
        const form = await receiveAudio(context.req, caller.account.id, (model) =>
          text.check(format.name, model, caller),
        );
        const { fields: body, audio } = form;
        try {
          return await text.serve({ caller, context, format, parseContext: { audio }, streamsArray: false, body });
        } finally {
          await form.dispose();
        }
      }
      const { parseContext = {}, streamsArray = false } = read(request);
      const body: ReceiveBody = (limits, mayBeParsed) => readJsonBody(context.req, limits, mayBeParsed);
      return text.serve({ caller, context, format, parseContext, streamsArray, body });
    },
  });
  return (id, tag) => {
    const named = unnamed(id, tag);
    return {
      ...named,
      serve: (context, services) => {
        context.state.presentError = (error, requestId) =>
          error.code === 'bad_request'
            ? format.client.renderError(error, requestId)
            : format.client.renderRefusal(error, requestId);
        return services.text.track(countIfRefused(context, named.serve(context, services)));
      },
    };
  };
}

/** Also counts a request that is refused before its hold. A 429 replaces the other refusal. */
async function countIfRefused(context: Context, served: Promise<void>): Promise<void> {
  try {
    await served;
  } catch (error) {
    await countNow(context);
    throw error;
  }
}

/** A body that the handler reads, once the payer is known. @param schema its name in the API description */
export function textBody(schema: string, example: JsonObject): RequestBody<void> {
  return {
    description: { required: true, content: json(ref(schema), { text: { value: example } }) },
    read: async () => {},
  };
}
