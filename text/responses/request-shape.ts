/** The fields of a responses request: those of contract 4.8.2, and others of the format, without effect. */
import { badRequest } from '../../domain/errors.ts';
import type { OutputFormat } from '../canonical.ts';
import {
  byCompatibility,
  fields,
  type ReaderSelector,
  ignored,
  ignoredAs,
  object,
  forwardedAs,
  refused,
  typed,
} from '../fields.ts';
import { compact, described, named, optional, readBoolean, reader, readName, readObject, readString } from '../read.ts';
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
import { readInput } from './input-items.ts';
import { TOOL_CHOICE, TOOLS } from './tools.ts';

const STATELESS = 'answers are not stored; send the whole conversation in "input"';

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
  fields(
    { effort: optional(EFFORT), summary: optional(described(readString, 'Summaries do not depend on this field')) },
    { description: 'Among models with the compatibility `specification`, only textg accepts `reasoning`' },
  ),
);
const textSettings = named(
  'ResponsesText',
  fields(
    { format: optional(textFormat), verbosity: optional(VERBOSITY) },
    { description: 'Among models with the compatibility `specification`, only textg accepts `reasoning`' },
  ),
);

const background = reader(
  { ...described(readBoolean, 'The answer is always in the same request').schema, not: { const: true } },
  (value, path) => {
    if (!readBoolean(value, path)) return;
    throw badRequest(`"${path}" is not supported: wait for the answer or stream it`);
  },
);

const requestOf = (select: ReaderSelector) =>
  fields(
    {
      model: readName,
      input: readInput,
      instructions: optional(described(readString, 'Placed before the input')),
      max_output_tokens: optional(outputTokens(MAX_OUTPUT_TOKENS)),
      stream: optional(STREAM),
      temperature: optional(TEMPERATURE),
      top_p: optional(TOP_P),
      tools: select(TOOLS.full, TOOLS.specification),
      tool_choice: select(TOOL_CHOICE.full, TOOL_CHOICE.specification),
      parallel_tool_calls: optional(readBoolean),
      reasoning: optional(reasoning),
      text: optional(textSettings),
      user: optional(described(readString, 'Identifies the end user')),
      background: optional(background),
      include: forwardedAs('array'),
      max_tool_calls: forwardedAs('number'),
      metadata: optional(described(readObject, 'Returned with the answer')),
      moderation: ignored,
      prompt_cache_key: optional(described(readString, 'Names the conversation for the cache of the model')),
      prompt_cache_options: ignoredAs('object'),
      prompt_cache_retention: ignoredAs('string'),
      safety_identifier: forwardedAs('string'),
      service_tier: ignoredAs('string'),
      store: select(optional(described(readBoolean, 'Whether the response is stored')), ignoredAs('boolean')),
      stream_options: forwardedAs('object'),
      top_logprobs: forwardedAs('number'),
      truncation: forwardedAs('string'),
      // Not standard, but sent by a widely used client.
      client_metadata: ignoredAs('object'),
      previous_response_id: select(
        optional(described(readString, 'The stored response that the request continues')),
        refused(STATELESS),
      ),
      conversation: refused(STATELESS),
      prompt: refused('prompt templates are not stored; send "instructions" and "input"'),
      context_management: select(forwardedAs('array'), refused('shorten the conversation in "input" yourself')),
    },
    { unknown: 'refuse' },
  );

export const READ_REQUEST = byCompatibility(requestOf);
