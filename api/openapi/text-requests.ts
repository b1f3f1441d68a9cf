/** Requests of the text formats: contract 4.8. The formats' readers define the schemas; the catalogue adds models. */
import { hasFormat, type Catalogue } from '../../catalogue/types.ts';
import { type JsonSchema, object, oneOfTexts, ref, text } from '../../domain/json-schema.ts';
import type { RequestFormatName } from '../../domain/wire-format-name.ts';
import { READ_REQUEST as READ_CHAT_REQUEST } from '../../text/chat-completions/request-shape.ts';
import { readRequest as readEmbeddingsRequest } from '../../text/embeddings/request-shape.ts';
import { readBatchEmbedContents, readEmbedContent } from '../../text/embeddings/native.ts';
import { readTranscription, readTranslation } from '../../text/voice/transcription.ts';
import { READ_REQUEST as READ_NATIVE_REQUEST } from '../../text/generate-content/request-shape.ts';
import { readRequest as readRerankRequest } from '../../text/rerank/index.ts';
import { readRequest as readSpeechRequest } from '../../text/voice/speech.ts';
import { REQUEST_SCHEMA as MESSAGES_REQUEST } from '../../text/messages/request-shape.ts';
import { READ_REQUEST as READ_RESPONSES_REQUEST } from '../../text/responses/request-shape.ts';

/** The request schemas, with the models of each format. */
export function textRequestSchemas(catalogue: Catalogue): Readonly<Record<string, JsonSchema>> {
  const messagesRequest = withModels(MESSAGES_REQUEST, modelOn('messages', catalogue));
  return {
    ChatCompletionRequest: withModels(READ_CHAT_REQUEST.full.schema, modelOn('chat-completions', catalogue)),
    ResponsesRequest: withModels(READ_RESPONSES_REQUEST.full.schema, modelOn('responses', catalogue)),
    MessagesRequest: messagesRequest,
    MessagesCount: { ...messagesRequest, required: ['model', 'messages'] },
    EmbeddingsRequest: withModels(readEmbeddingsRequest.schema, modelOn('embeddings', catalogue)),
    RerankRequest: withModels(readRerankRequest.schema, modelOn('rerank', catalogue)),
    SpeechRequest: withModels(readSpeechRequest.schema, modelOn('speech', catalogue)),
    TranscriptionForm: withFile(withModels(readTranscription.schema, modelOn('transcriptions', catalogue))),
    TranslationForm: withFile(withModels(readTranslation.schema, modelOn('translations', catalogue))),
    EmbedContentRequest: readEmbedContent.schema,
    BatchEmbedContentsRequest: readBatchEmbedContents.schema,
    GenerateContentRequest: READ_NATIVE_REQUEST.full.schema,
    GenerateContentCount: {
      anyOf: [ref('GenerateContentRequest'), object({ generateContentRequest: ref('GenerateContentRequest') })],
    },
  };
}

function withFile(schema: JsonSchema): JsonSchema {
  const file = text('The audio, with a filename', { format: 'binary' });
  return { ...schema, properties: { ...Object(schema['properties']), file }, required: ['file', 'model'] };
}

function withModels(schema: JsonSchema, model: JsonSchema): JsonSchema {
  return { ...schema, properties: { ...Object(schema['properties']), model } };
}

/** The ids of the models that a format serves. */
function modelOn(format: RequestFormatName, { textModels }: Catalogue): JsonSchema {
  const ids = [...textModels.values()].filter((model) => hasFormat(model, format)).map(({ id }) => id);
  return ids.length === 0 ? text('No models') : oneOfTexts(ids, 'The exact, case-sensitive id');
}
