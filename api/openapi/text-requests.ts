/** Requests of the text formats: contract 4.8. Their readers carry the schemas; the catalogue adds its models. */
import { answersFormat, type Catalogue } from '../../catalogue/types.ts';
import { type JsonSchema, oneOfTexts, text } from '../../domain/json-schema.ts';
import type { WireFormatName } from '../../domain/wire-format-name.ts';
import { REQUEST_SCHEMAS as CHAT } from '../../text/chat-completions/request-shape.ts';
import { REQUEST_SCHEMAS as GENERATE_CONTENT } from '../../text/generate-content/request-shape.ts';
import { REQUEST_SCHEMAS as MESSAGES } from '../../text/messages/request-shape.ts';
import { REQUEST_SCHEMAS as RESPONSES } from '../../text/responses/request-shape.ts';

/** The request schemas, with the models of each format. */
export function textRequestSchemas(catalogue: Catalogue): Readonly<Record<string, JsonSchema>> {
  const messagesRequest = withModels(MESSAGES.MessagesRequest, modelOn('messages', catalogue));
  return {
    ...CHAT,
    ChatCompletionRequest: withModels(CHAT.ChatCompletionRequest, modelOn('chat-completions', catalogue)),
    ...RESPONSES,
    ResponsesRequest: withModels(RESPONSES.ResponsesRequest, modelOn('responses', catalogue)),
    ...MESSAGES,
    MessagesRequest: messagesRequest,
    MessagesCount: { ...messagesRequest, required: ['model', 'messages'] },
    ...GENERATE_CONTENT,
  };
}

function withModels(schema: JsonSchema, model: JsonSchema): JsonSchema {
  return { ...schema, properties: { ...Object(schema['properties']), model } };
}

/** The ids of the models that a format serves. */
function modelOn(format: WireFormatName, { textModels }: Catalogue): JsonSchema {
  const ids = [...textModels.values()].filter((model) => answersFormat(model, format)).map(({ id }) => id);
  return ids.length === 0 ? text('No models') : oneOfTexts(ids, 'Exact and case-sensitive');
}
