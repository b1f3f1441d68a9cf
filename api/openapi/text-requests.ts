/**
 * What the text formats take: specification section 4.8. Which fields there are, and what becomes of each, is read from the
 * tables that the parsers check requests with; only the types of those that have an effect are told here.
 */
import type { Catalogue } from '../../catalogue/types.ts';
import type { WireFormatName } from '../../domain/wire-format-name.ts';
import { REASONING_EFFORTS } from '../../text/canonical.ts';
import { MESSAGE_FIELDS, REQUEST_FIELDS as CHAT_FIELDS } from '../../text/chat-completions/types.ts';
import type { FieldTable } from '../../text/fields.ts';
import {
  GENERATION_FIELDS,
  PART_FIELDS,
  REQUEST_FIELDS as GENERATE_CONTENT_FIELDS,
} from '../../text/generate-content/types.ts';
import { REQUEST_FIELDS as MESSAGES_FIELDS } from '../../text/messages/types.ts';
import { MAXIMUM_OUTPUT_TOKENS, REQUEST_FIELDS as RESPONSES_FIELDS } from '../../text/responses/types.ts';
import {
  arrayOf,
  boolean,
  exactly,
  integer,
  type JsonSchema,
  NULL,
  nullable,
  number,
  object,
  oneOfTexts,
  optional,
  ref,
  text,
} from './json-schema.ts';

interface RequestShape {
  readonly table: FieldTable;
  /** The types of the fields that have an effect. */
  readonly types: Readonly<Record<string, JsonSchema>>;
  readonly required: readonly string[];
  /** What becomes of fields that the table does not name. */
  readonly unknown: 'refuse' | 'ignore';
  readonly description?: string;
}

/**
 * An object as a parser with a field table takes it. A field that is null counts as not sent, so null is all that a refused
 * or an unknown one may be.
 *
 * @throws Error when a field has an effect and no type, or a type and no effect
 */
function requestOf({ table, types, required, unknown, description }: RequestShape): JsonSchema {
  const stray = Object.keys(types).find((field) => table[field] !== 'mapped');
  if (stray !== undefined) throw new Error(`the field ${stray} has a type, but no effect`);
  const properties = Object.entries(table).map(([field, policy]) => {
    if (policy === 'ignored') return [field, { description: 'Accepted without effect' }];
    if (policy !== 'mapped') return [field, { ...NULL, description: `Not supported: ${policy.refused}` }];
    const type = types[field];
    if (type === undefined) throw new Error(`the field ${field} has an effect, but no type`);
    return [field, required.includes(field) ? type : nullable(type)];
  });
  return {
    type: 'object',
    ...(description !== undefined && { description }),
    properties: Object.fromEntries(properties),
    ...(required.length > 0 && { required }),
    ...(unknown === 'refuse' && { additionalProperties: NULL }),
  };
}

/** Fields that are null count as not sent in inner objects too. */
const maybe = (schema: JsonSchema) => optional(nullable(schema));

const temperature = number('Change this or `top_p`, not both', { minimum: 0, maximum: 2 });
const topP = number('Change this or `temperature`, not both', { minimum: 0, maximum: 1 });
const topK = integer(undefined, { minimum: 0 });
const stopSequences = arrayOf(text());
const penalty = number(undefined, { minimum: -2, maximum: 2 });
const stream = boolean('Whether to answer with `text/event-stream`');
const name = text(undefined, { minLength: 1 });
const jsonSchema = { type: 'object', description: 'A JSON Schema' };
const tokens = (constraints: JsonSchema = {}) =>
  integer('Bounds generated tokens, reasoning included', { minimum: 1, ...constraints });
const urlOrData = text('An https URL, or a data URL with a media type and base64', { minLength: 1 });
const effort = oneOfTexts(REASONING_EFFORTS, 'Which of them a model takes differs');
const verbosity = oneOfTexts(['low', 'medium', 'high']);

const WHERE_OFFERED =
  'Accepted, and of no effect unless the upstream of the model offers it at no charge beyond tokens';

const functionFields = {
  name,
  description: maybe(text()),
  parameters: maybe(jsonSchema),
  strict: maybe(boolean()),
};

const schemaFields = { name, description: maybe(text()), schema: maybe(jsonSchema), strict: maybe(boolean()) };

const plainFormats = [object({ type: exactly('text') }), object({ type: exactly('json_object') })];
const plainChoices = oneOfTexts(['auto', 'none', 'required']);

const chatContent = (parts: readonly JsonSchema[]) => ({ oneOf: [text(), arrayOf({ oneOf: parts })] });

const CHAT_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  ChatMessage: requestOf({
    table: MESSAGE_FIELDS,
    types: {
      role: oneOfTexts(['system', 'developer', 'user', 'assistant', 'tool', 'function']),
      content: {
        ...chatContent([ref('ChatContentPart')]),
        description: 'Required but of an assistant; `system` takes text parts only',
      },
      reasoning_content: text('Of an assistant: what it thought'),
      reasoning: text('The same, as other services call it'),
      refusal: text(),
      tool_calls: arrayOf(ref('ChatToolCall')),
      tool_call_id: text('Of a tool: the call that it answers'),
      name: text('Of a function: which one answers; else without effect'),
      function_call: object({ name, arguments: maybe(text('JSON')) }, 'What `tool_calls` were called before'),
    },
    required: ['role'],
    unknown: 'ignore',
  }),
  ChatContentPart: {
    oneOf: [
      object({ type: exactly('text'), text: text() }),
      object({ type: exactly('refusal'), refusal: text() }),
      object({ type: exactly('image_url'), image_url: object({ url: urlOrData, detail: maybe(text()) }) }),
      object({ type: exactly('file'), file: object({ file_data: urlOrData, filename: maybe(text()) }) }),
      object({
        type: exactly('input_audio'),
        input_audio: object({ format: oneOfTexts(['wav', 'mp3']), data: text('Base64', { minLength: 1 }) }),
      }),
    ],
  },
  ChatToolCall: object({
    id: text(),
    type: maybe(exactly('function')),
    function: object({ name, arguments: maybe(text('JSON')) }),
  }),
};

function chatRequest(model: JsonSchema): JsonSchema {
  return requestOf({
    table: CHAT_FIELDS,
    types: {
      model,
      messages: { ...arrayOf(ref('ChatMessage')), minItems: 1 },
      max_tokens: tokens(),
      max_completion_tokens: tokens({
        description: 'As `max_tokens`; the larger of both counts, and without any what the balance leaves room for',
      }),
      stream,
      stream_options: object({ include_usage: maybe(boolean('Whether the last chunk tells the usage')) }),
      temperature,
      top_p: topP,
      top_k: topK,
      stop: { oneOf: [text(), stopSequences] },
      tools: arrayOf(object({ type: exactly('function'), function: object(functionFields) })),
      tool_choice: { oneOf: [plainChoices, object({ type: exactly('function'), function: object({ name }) })] },
      functions: arrayOf(
        object(functionFields),
        'What `tools` were called before: the answer has `function_call` then',
      ),
      function_call: { oneOf: [oneOfTexts(['auto', 'none']), object({ name })] },
      audio: { type: 'object', description: WHERE_OFFERED },
      web_search_options: { type: 'object', description: WHERE_OFFERED },
      parallel_tool_calls: boolean(),
      n: integer('How many answers', { minimum: 1, maximum: 128 }),
      seed: integer(),
      frequency_penalty: penalty,
      presence_penalty: penalty,
      response_format: {
        oneOf: [...plainFormats, object({ type: exactly('json_schema'), json_schema: object(schemaFields) })],
      },
      reasoning_effort: effort,
      verbosity,
      user: text('Names the end user'),
      modalities: arrayOf(exactly('text')),
    },
    required: ['model', 'messages'],
    unknown: 'refuse',
  });
}

const RESPONSES_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  ResponsesInputItem: {
    anyOf: [
      object({
        type: maybe(exactly('message')),
        role: oneOfTexts(['user', 'assistant', 'system', 'developer']),
        content: chatContent([ref('ResponsesContentPart')]),
      }),
      object({ type: exactly('function_call'), call_id: name, name, arguments: text('JSON') }),
      object({
        type: exactly('function_call_output'),
        call_id: name,
        output: chatContent([ref('ResponsesContentPart')]),
      }),
      object({
        type: exactly('reasoning'),
        summary: maybe(arrayOf(ref('ResponsesReasoningPart'))),
        content: maybe(arrayOf(ref('ResponsesReasoningPart'))),
        encrypted_content: maybe(text()),
      }),
      object(
        { type: maybe(exactly('item_reference')), id: text() },
        'Nothing is stored: a reference to reasoning is passed over, any other refused.',
      ),
    ],
  },
  ResponsesReasoningPart: object({ text: text() }),
  ResponsesContentPart: {
    oneOf: [
      object({ type: oneOfTexts(['input_text', 'output_text']), text: text() }),
      object({ type: exactly('refusal'), refusal: text() }),
      object({ type: exactly('input_image'), image_url: urlOrData, detail: maybe(text()) }),
      object({
        type: exactly('input_file'),
        file_url: maybe(urlOrData),
        file_data: maybe(urlOrData),
        filename: maybe(text()),
      }),
    ],
  },
};

/** Named, because generators name what stands inside of others after all of these, and then more than one thing alike. */
const RESPONSES_SETTINGS: Readonly<Record<string, JsonSchema>> = {
  ResponsesTool: object({ type: exactly('function'), ...functionFields }),
  ResponsesToolChoice: object({ type: exactly('function'), name }),
  ResponsesReasoning: object({ effort: maybe(effort) }, 'textg models only'),
  ResponsesText: object(
    { format: maybe(ref('ResponsesTextFormat')), verbosity: maybe(verbosity) },
    'textg models only',
  ),
  ResponsesTextFormat: { oneOf: [...plainFormats, ref('ResponsesJsonSchemaFormat')] },
  ResponsesJsonSchemaFormat: object({ type: exactly('json_schema'), ...schemaFields }),
};

function responsesRequest(model: JsonSchema): JsonSchema {
  return requestOf({
    table: RESPONSES_FIELDS,
    types: {
      model,
      input: { oneOf: [text(undefined, { minLength: 1 }), { ...arrayOf(ref('ResponsesInputItem')), minItems: 1 }] },
      instructions: text('Placed before the input'),
      max_output_tokens: tokens({ maximum: MAXIMUM_OUTPUT_TOKENS }),
      stream,
      temperature,
      top_p: topP,
      tools: arrayOf(ref('ResponsesTool'), 'Function tools only'),
      tool_choice: { oneOf: [plainChoices, ref('ResponsesToolChoice')] },
      parallel_tool_calls: boolean(),
      reasoning: ref('ResponsesReasoning'),
      text: ref('ResponsesText'),
      user: text('Names the end user'),
      metadata: { type: 'object', description: 'Comes back with the answer' },
      background: { ...boolean('Answers are not stored'), not: { const: true } },
    },
    required: ['model', 'input'],
    unknown: 'refuse',
  });
}

const blockContent = (block: string) => ({ oneOf: [text(), arrayOf(ref(block))] });
const textBlock = object({ type: exactly('text'), text: text() });
const base64Source = object({
  type: exactly('base64'),
  media_type: text(undefined, { minLength: 1 }),
  data: text(undefined, { minLength: 1 }),
});
const urlSource = object({ type: exactly('url'), url: urlOrData });

const MESSAGES_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  MessagesInputBlock: {
    oneOf: [
      textBlock,
      object({ type: exactly('image'), source: { oneOf: [base64Source, urlSource] } }),
      object({
        type: exactly('document'),
        title: maybe(text()),
        source: { oneOf: [base64Source, urlSource, object({ type: exactly('text'), data: text() })] },
      }),
    ],
  },
  MessagesUserBlock: {
    oneOf: [
      ref('MessagesInputBlock'),
      object({
        type: exactly('tool_result'),
        tool_use_id: name,
        content: maybe(blockContent('MessagesInputBlock')),
        is_error: maybe(boolean()),
      }),
    ],
  },
  MessagesAnswerBlock: {
    oneOf: [
      textBlock,
      object({ type: exactly('thinking'), thinking: text(), signature: maybe(text()) }),
      object({ type: exactly('redacted_thinking'), data: name }),
      object({ type: exactly('tool_use'), id: name, name, input: maybe({ type: 'object' }) }),
    ],
  },
  MessagesMessage: {
    oneOf: [
      object({ role: exactly('user'), content: blockContent('MessagesUserBlock') }),
      object({ role: exactly('assistant'), content: blockContent('MessagesAnswerBlock') }),
      object({ role: exactly('system'), content: { oneOf: [text(), arrayOf(textBlock)] } }),
    ],
  },
};

function messagesRequest(model: JsonSchema): JsonSchema {
  const request = requestOf({
    table: MESSAGES_FIELDS,
    types: {
      model,
      max_tokens: tokens(),
      messages: { ...arrayOf(ref('MessagesMessage')), minItems: 1 },
      system: { oneOf: [text(), arrayOf(textBlock)] },
      stream,
      temperature,
      top_p: topP,
      top_k: topK,
      stop_sequences: stopSequences,
      tools: arrayOf(
        object({
          type: maybe(exactly('custom')),
          name,
          description: maybe(text()),
          input_schema: maybe(jsonSchema),
          strict: maybe(boolean()),
        }),
      ),
      tool_choice: {
        description:
          '`{"type": "auto"}`, `any`, `none` or `tool` with its `name`; without tools of no effect, whatever it is',
      },
      output_config: object({
        effort: maybe(oneOfTexts(['low', 'medium', 'high', 'xhigh', 'max'])),
        format: maybe(object({ type: exactly('json_schema'), schema: jsonSchema })),
      }),
      metadata: object({ user_id: maybe(text('Names the end user')) }),
    },
    required: ['model', 'max_tokens', 'messages'],
    unknown: 'refuse',
  });
  const serial = { disable_parallel_tool_use: maybe(boolean('One call in an answer')) };
  const choice = {
    oneOf: [
      object({ type: oneOfTexts(['auto', 'any', 'none']), ...serial }),
      object({ type: exactly('tool'), name, ...serial }),
    ],
  };
  return {
    ...request,
    if: { properties: { tools: { type: 'array', minItems: 1 } }, required: ['tools'] },
    // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
    then: { properties: { tool_choice: nullable(choice) } },
  };
}

const GENERATE_CONTENT_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  Content: object({
    role: maybe(oneOfTexts(['user', 'model'])),
    parts: maybe(arrayOf(ref('Part'))),
  }),
  Part: spelledTwice(
    requestOf({
      table: PART_FIELDS,
      types: {
        text: text(),
        inlineData: object({ mimeType: name, data: text('Base64', { minLength: 1 }) }),
        fileData: object({ mimeType: maybe(name), fileUri: urlOrData }),
        functionCall: object({ id: maybe(text()), name, args: maybe({ type: 'object' }) }),
        functionResponse: object({
          id: maybe(text()),
          name,
          response: maybe({ type: 'object' }),
          parts: maybe(arrayOf(ref('Part'))),
        }),
        thought: boolean('Whether the text is what the model thought'),
        thoughtSignature: text(),
      },
      required: [],
      unknown: 'refuse',
      description: 'Has exactly one of `text`, `inlineData`, `fileData`, `functionCall` and `functionResponse`',
    }),
  ),
  GenerateContentRequest: spelledTwice(
    requestOf({
      table: GENERATE_CONTENT_FIELDS,
      types: {
        contents: { ...arrayOf(ref('Content')), minItems: 1 },
        systemInstruction: object({ parts: arrayOf(object({ text: text() })) }),
        generationConfig: spelledTwice(
          requestOf({
            table: GENERATION_FIELDS,
            types: {
              maxOutputTokens: tokens({ maximum: MAXIMUM_OUTPUT_TOKENS }),
              temperature,
              topP: number('0 is as if not sent', { minimum: 0, maximum: 1 }),
              topK: integer('0 is as if not sent', { minimum: 0 }),
              stopSequences: arrayOf(text(), 'The first 4 are used'),
              candidateCount: integer(undefined, { minimum: 1, maximum: 8 }),
              presencePenalty: penalty,
              frequencyPenalty: penalty,
            },
            required: [],
            unknown: 'refuse',
          }),
        ),
        tools: arrayOf(
          object(
            {
              functionDeclarations: maybe(
                arrayOf(
                  object({
                    name,
                    description: maybe(text()),
                    parameters: maybe(jsonSchema),
                    parametersJsonSchema: maybe(jsonSchema),
                  }),
                ),
              ),
            },
            'Built-in tools, which are other fields, have no effect',
          ),
        ),
      },
      required: ['contents'],
      unknown: 'refuse',
      description: 'Field names may come in snake_case too.',
    }),
  ),
};

/** The object with its fields in snake_case as well. */
function spelledTwice(schema: JsonSchema): JsonSchema {
  const names = Object.keys(Object(schema['properties']))
    .map((field) => field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`))
    .filter((field) => field.includes('_'));
  if (names.length === 0) return schema;
  return { ...schema, patternProperties: { [`^(${names.join('|')})$`]: true } };
}

/** The schemas of the requests, with the models that answer on each format. */
export function textRequestSchemas(catalogue: Catalogue): Readonly<Record<string, JsonSchema>> {
  return {
    ...CHAT_SCHEMAS,
    ChatCompletionRequest: chatRequest(modelOn('chat-completions', catalogue)),
    ...RESPONSES_SCHEMAS,
    ...RESPONSES_SETTINGS,
    ResponsesRequest: responsesRequest(modelOn('responses', catalogue)),
    ...MESSAGES_SCHEMAS,
    MessagesRequest: messagesRequest(modelOn('messages', catalogue)),
    ...GENERATE_CONTENT_SCHEMAS,
  };
}

/** The ids of the models that answer on a format. */
function modelOn(format: WireFormatName, { textModels }: Catalogue): JsonSchema {
  const ids = [...textModels.values()].filter(({ formats }) => formats.includes(format)).map(({ id }) => id);
  return ids.length === 0 ? text('There is none') : oneOfTexts(ids, 'Exact and case-sensitive');
}
