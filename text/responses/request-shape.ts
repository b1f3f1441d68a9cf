/** The fields of a responses request: those of contract 4.8.2, and others of the format, without effect. */
import { badRequest } from '../../domain/errors.ts';
import type { OutputFormat, Tool, ToolChoice } from '../canonical.ts';
import { type Fields, fields, ignored, object, passedOn, refused, typed } from '../fields.ts';
import {
  arrayOf,
  compact,
  described,
  mapped,
  named,
  oneOf,
  optional,
  readBoolean,
  reader,
  readName,
  readObject,
  readString,
  textOr,
} from '../read.ts';
import {
  EFFORT,
  JSON_SCHEMA,
  MAX_OUTPUT_TOKENS,
  outputTokens,
  STREAM,
  TEMPERATURE,
  TOP_P,
  VERBOSITY,
} from '../settings.ts';
import { INPUT_SCHEMAS, readInput } from './input-items.ts';

const STATELESS = 'answers are not stored; send the whole conversation in "input"';

const readTool = named(
  'ResponsesTool',
  mapped(
    fields({
      type: oneOf(['function']),
      name: readName,
      description: optional(readString),
      parameters: optional(JSON_SCHEMA),
      strict: optional(readBoolean),
    }),
    (tool): Tool => {
      requireFunction(tool, 'tool', 'send tools');
      const { type: _, ...definition } = tool.all();
      return compact(definition);
    },
  ),
);

const toolByName = named(
  'ResponsesToolChoice',
  mapped(fields({ type: oneOf(['function']), name: readName }), (choice): ToolChoice => {
    requireFunction(choice, 'choice', 'choose a tool');
    return { type: 'tool', name: choice.get('name') };
  }),
);

/** There are no hosted tools. */
function requireFunction(object: Fields<{ type: 'function' }>, what: string, advice: string): void {
  const type = object.getAs('type', readString);
  if (type === 'function') return;
  throw badRequest(`"${object.path}": the ${what} "${type}" is not supported; ${advice} of the type "function"`);
}

const toolChoice = textOr<ToolChoice>(
  mapped(oneOf(['auto', 'none', 'required']), (type) => ({ type })),
  toolByName,
);

const plainFormats = {
  text: object({}, () => undefined),
  json_object: object({}, (): OutputFormat => ({ type: 'json-object' })),
};
const jsonSchemaFormat = object(
  {
    name: readName,
    description: optional(readString),
    schema: optional(JSON_SCHEMA),
    strict: optional(readBoolean),
  },
  (format): OutputFormat => compact({ type: 'json-schema', ...format }),
);
const namedJsonSchemaFormat = named('ResponsesJsonSchemaFormat', typed({ json_schema: jsonSchemaFormat }));

const textFormat = named(
  'ResponsesTextFormat',
  reader(
    {
      oneOf: [
        typed({ text: plainFormats.text }).schema,
        typed({ json_object: plainFormats.json_object }).schema,
        namedJsonSchemaFormat.schema,
      ],
    },
    typed<OutputFormat | undefined>({ ...plainFormats, json_schema: jsonSchemaFormat }),
  ),
);

/** Named, because code generators name anonymous schemas themselves, and may give several the same name. */
const reasoning = named(
  'ResponsesReasoning',
  fields({ effort: optional(EFFORT) }, { description: 'textg models only' }),
);
const textSettings = named(
  'ResponsesText',
  fields({ format: optional(textFormat), verbosity: optional(VERBOSITY) }, { description: 'textg models only' }),
);

const background = reader(
  { ...described(readBoolean, 'Answers are not stored').schema, not: { const: true } },
  (value, path) => {
    if (!readBoolean(value, path)) return;
    throw badRequest(`"${path}" is not supported: answers are not stored; wait for the answer or stream it`);
  },
);

export const readRequest = fields(
  {
    model: readName,
    input: readInput,
    instructions: optional(described(readString, 'Placed before the input')),
    max_output_tokens: optional(outputTokens(MAX_OUTPUT_TOKENS)),
    stream: optional(STREAM),
    temperature: optional(TEMPERATURE),
    top_p: optional(TOP_P),
    tools: optional(described(arrayOf(readTool), 'Function tools only')),
    tool_choice: optional(toolChoice),
    parallel_tool_calls: optional(readBoolean),
    reasoning: optional(reasoning),
    text: optional(textSettings),
    user: optional(described(readString, 'Identifies the end user')),
    background: optional(background),
    include: passedOn,
    max_tool_calls: passedOn,
    metadata: optional(described(readObject, 'Returned with the answer')),
    moderation: ignored,
    prompt_cache_key: passedOn,
    prompt_cache_options: ignored,
    prompt_cache_retention: ignored,
    safety_identifier: passedOn,
    service_tier: ignored,
    store: ignored,
    stream_options: passedOn,
    top_logprobs: passedOn,
    truncation: passedOn,
    // Not standard, but sent by a widely used client.
    client_metadata: ignored,
    previous_response_id: refused(STATELESS),
    conversation: refused(STATELESS),
    prompt: refused('prompt templates are not stored; send "instructions" and "input"'),
    context_management: refused('shorten the conversation in "input" yourself'),
  },
  { unknown: 'refuse' },
);

/** The schemas with names of their own. */
export const REQUEST_SCHEMAS = {
  ...INPUT_SCHEMAS,
  ResponsesTool: readTool.definition,
  ResponsesToolChoice: toolByName.definition,
  ResponsesReasoning: reasoning.definition,
  ResponsesText: textSettings.definition,
  ResponsesTextFormat: textFormat.definition,
  ResponsesJsonSchemaFormat: namedJsonSchemaFormat.definition,
  ResponsesRequest: readRequest.schema,
};
