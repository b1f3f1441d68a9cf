/** The fields of a messages request: those of contract 4.8.3, and others of the format, without effect. */
import { badRequest } from '../../domain/errors.ts';
import type { JsonSchema } from '../../domain/json-schema.ts';
import type {
  AnswerPart,
  FilePart,
  ImagePart,
  InputPart,
  OutputFormat,
  TextPart,
  TextRequest,
  Tool,
  ToolResultPart,
  WebSearch,
} from '../canonical.ts';
import { pictureOf, readUrl } from '../data-url.ts';
import { jsonTextOf } from '../json/write.ts';
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
import {
  anything,
  arrayOf,
  compact,
  constrained,
  contentOf,
  described,
  integerBetween,
  mapped,
  named,
  oneOf,
  optional,
  readBoolean,
  reader,
  readName,
  readObject,
  readStopSequences,
  readString,
  type Reader,
  readText,
} from '../read.ts';
import { isObject } from '../../domain/json.ts';
import { WEB_SEARCH, webSearchOf } from '../web-search.ts';
import { betaFieldsOf, SERVER_BLOCKS, textOfToolReference } from './betas.ts';
import { CLIENT_TOOL_TYPE, clientToolOf } from './client-tools.ts';
import {
  cacheMarks,
  type CacheMarks,
  JSON_SCHEMA,
  outputTokens,
  STREAM,
  TEMPERATURE,
  textPartOf,
  TOP_K,
  TOP_P,
} from '../settings.ts';

/** This format's schemas have no name, but other formats require one. */
const SCHEMA_NAME = 'answer';

const bytes = object({ media_type: readName, data: readText }, (source) => {
  return { kind: 'base64', mediaType: source.media_type.toLowerCase(), data: source.data } as const;
});
const link = object({ url: readUrl }, ({ url }) => url);

const imageBlockOf = (marks: CacheMarks) =>
  object(
    { ...marks, source: typed({ base64: bytes, url: link }) },
    ({ source, cache_control: cacheBreakpoint }): ImagePart =>
      compact({ type: 'image', source: pictureOf(source), cacheBreakpoint }),
  );

/** A document is a file, plain text, or blocks. Links can only lead to PDF. */
const documentSourceOf = (marks: CacheMarks) =>
  typed<FilePart | TextPart | readonly (TextPart | ImagePart)[]>({
    base64: mapped(bytes, (source) => ({ type: 'file', source })),
    url: mapped(link, (source) => ({ type: 'file', source: { mediaType: 'application/pdf', ...source } })),
    text: object({ data: readString }, ({ data }) => ({ type: 'text', text: data })),
    content: object(
      { content: contentOf(typed<TextPart | ImagePart>({ text: textPartOf(marks), image: imageBlockOf(marks) })) },
      ({ content }) => content,
    ),
  });

const documentBlockOf = (marks: CacheMarks) =>
  object(
    { ...marks, title: optional(readString), source: documentSourceOf(marks) },
    ({ title, source, cache_control: cacheBreakpoint }): readonly InputPart[] => {
      const parts: readonly InputPart[] = 'type' in source ? [source] : source;
      return parts.map((part, index) => {
        const named = part.type === 'file' ? { ...part, filename: title } : part;
        return index === parts.length - 1 && cacheBreakpoint ? compact({ ...named, cacheBreakpoint }) : compact(named);
      });
    },
  );

/** Search results of the client. Other formats have no citations, so the model gets the text. */
const searchResultBlockOf = (marks: CacheMarks) =>
  object(
    { ...marks, source: readString, title: readString, content: arrayOf(typed({ text: textPartOf(marks) })) },
    ({ source, title, content, cache_control: mark }): TextPart => {
      const text = [title, source, ...content.map((part) => part.text)].join('\n');
      const cacheBreakpoint = mark ?? content.findLast((part) => part.cacheBreakpoint !== undefined)?.cacheBreakpoint;
      return compact({ type: 'text', text, cacheBreakpoint });
    },
  );

const inputBlocksOf = (marks: CacheMarks) => ({
  text: textPartOf(marks),
  image: imageBlockOf(marks),
  document: documentBlockOf(marks),
  search_result: searchResultBlockOf(marks),
});

/** A tool that a search of the client found. */
const toolReference = object({ tool_name: readName }, ({ tool_name: name }): TextPart => ({
  type: 'text',
  text: textOfToolReference(name),
  toolReference: name,
}));

function userBlockOf(marks: CacheMarks) {
  const inputBlocks = inputBlocksOf(marks);
  const inputBlock = named('MessagesInputBlock', typed<InputPart | readonly InputPart[]>(inputBlocks));
  const resultBlock = named(
    'MessagesResultBlock',
    reader(
      { oneOf: [inputBlock.schema, typed({ tool_reference: toolReference }).schema] },
      typed<InputPart | readonly InputPart[]>({ ...inputBlocks, tool_reference: toolReference }),
    ),
  );
  const toolResultBlock = object(
    {
      ...marks,
      tool_use_id: readName,
      content: optional(contentOf(resultBlock)),
      is_error: optional(readBoolean),
    },
    (result): ToolResultPart =>
      compact({
        type: 'tool-result',
        callId: result.tool_use_id,
        content: (result.content ?? []).flat(),
        isError: result.is_error,
        cacheBreakpoint: result.cache_control,
      }),
  );
  return named(
    'MessagesUserBlock',
    reader(
      { oneOf: [inputBlock.schema, typed({ tool_result: toolResultBlock }).schema] },
      typed<InputPart | readonly InputPart[] | ToolResultPart>({ ...inputBlocks, tool_result: toolResultBlock }),
    ),
  );
}

/** Passed on to vendors that know it. */
const serverBlock = object({}, () => null);

/** @param further blocks beside those of the vendor's answers */
const answerBlockOf = (marks: CacheMarks, further: Readonly<Record<string, Reader<ImagePart>>>) =>
  named(
    'MessagesAnswerBlock',
    typed<AnswerPart | ImagePart | null>({
      text: textPartOf(marks),
      ...further,
      thinking: object(
        { signature: optional(readString), thinking: readString },
        ({ signature, thinking }): AnswerPart =>
          compact({ type: 'reasoning', text: thinking, signature: signature || undefined }),
      ),
      redacted_thinking: object({ data: readText }, ({ data }) => {
        return { type: 'reasoning', text: '', signature: data, redacted: true };
      }),
      tool_use: object({ ...marks, id: readName, name: readName, input: optional(readObject) }, (call): AnswerPart =>
        compact({
          type: 'tool-call',
          callId: call.id,
          name: call.name,
          arguments: jsonTextOf(call.input ?? {}),
          cacheBreakpoint: call.cache_control,
        }),
      ),
      ...Object.fromEntries(SERVER_BLOCKS.map((type) => [type, serverBlock])),
    }),
  );

const systemOf = (marks: CacheMarks) => contentOf(typed<TextPart>({ text: textPartOf(marks) }));

const answerOf = (block: Reader<AnswerPart | ImagePart | null>) =>
  mapped(contentOf(block), (parts) => parts.filter((part) => part !== null));

/** The content of messages, by role. */
export const CONTENT = byCompatibility((select) => {
  const marks = cacheMarks(select);
  return {
    user: mapped(contentOf(userBlockOf(marks)), (parts) => parts.flat()),
    assistant: select(
      // Answers of models of other formats may have images.
      answerOf(answerBlockOf(marks, { image: imageBlockOf(marks) })),
      answerOf(answerBlockOf(marks, {})),
    ),
    system: systemOf(marks),
  };
});

const messageSchemas = Object.entries(CONTENT.full).map(
  ([role, content]) => fields({ role: oneOf([role]), content }).schema,
);

export const readMessage = named(
  'MessagesMessage',
  reader({ oneOf: messageSchemas }, fields({ role: oneOf(['user', 'assistant', 'system']), content: anything })),
);

const toolType = reader({ type: 'string', pattern: `^custom$|${CLIENT_TOOL_TYPE.source}` }, (value, path) => {
  const type = readString(value, path);
  if (type === 'custom' || clientToolOf(type) !== undefined) return type;
  const advice = 'send a tool with a name and an input_schema';
  throw badRequest(`"${path}" is not supported: there is no hosted tool "${type}"; ${advice}`);
});

const toolOf = (marks: CacheMarks) =>
  object(
    {
      ...marks,
      type: optional(toolType),
      name: readName,
      description: optional(readString),
      input_schema: optional(JSON_SCHEMA),
      strict: optional(readBoolean),
    },
    (
      { type = 'custom', name, description, input_schema: parameters, strict, cache_control },
      { object: sent },
    ): Tool => {
      const known = clientToolOf(type);
      const common = { name, cacheBreakpoint: cache_control, betaFields: betaFieldsOf(sent) };
      return compact(
        known === undefined
          ? { ...common, description, parameters, strict }
          : { ...common, ...known, clientType: type },
      );
    },
  );

const serial = {
  disable_parallel_tool_use: optional(described(readBoolean, 'Whether an answer may have at most one call')),
};
const plainChoice = fields({ ...serial, type: oneOf(['auto', 'any', 'none']) });
const toolByName = fields({ ...serial, type: oneOf(['tool']), name: readName });
const anyChoice = fields({ ...serial, type: oneOf(['auto', 'any', 'tool', 'none']), name: readName });

/** Absent or null lets the model choose. */
export const readToolChoice = optional(
  reader(
    { oneOf: [plainChoice.schema, toolByName.schema] },
    (value, path): Pick<TextRequest, 'toolChoice' | 'parallelToolCalls'> => {
      const choice = anyChoice(value, path);
      const parallelToolCalls = choice.get('disable_parallel_tool_use') === true ? false : undefined;
      const type = choice.get('type');
      if (type === 'tool') return { toolChoice: { type, name: choice.get('name') }, parallelToolCalls };
      return { toolChoice: { type: type === 'any' ? 'required' : type }, parallelToolCalls };
    },
  ),
);

const outputFormat = typed<OutputFormat>({
  json_schema: object({ schema: JSON_SCHEMA }, ({ schema }) => ({ type: 'json-schema', name: SCHEMA_NAME, schema })),
});

const display = optional(
  described(oneOf(['summarized', 'omitted', 'updates']), '`omitted`: thinking blocks without their text'),
);
const showing = { summarized: 'text', omitted: 'signature', updates: 'text' } as const;

type Thinking = Pick<TextRequest, 'reasoningBudget' | 'reasoningDisplay'>;

/** The vendor's tool for searches, in any version: https://platform.claude.com/docs/en/agents-and-tools/tool-use/web-search-tool */
const WEB_SEARCH_TYPE = /^web_search_\d{8}$/;

export function isWebSearchTool(tool: unknown): boolean {
  return isObject(tool) && typeof tool['type'] === 'string' && WEB_SEARCH_TYPE.test(tool['type']);
}

const webSearchTool = named(
  'MessagesWebSearchTool',
  object(
    {
      type: reader({ type: 'string', pattern: WEB_SEARCH_TYPE.source }, readString),
      name: oneOf([WEB_SEARCH]),
      max_uses: optional(integerBetween(1, null)),
      allowed_domains: optional(arrayOf(readString)),
      blocked_domains: optional(arrayOf(readString)),
      user_location: optional(readObject),
    },
    ({ type, max_uses: maxUses }, { object: sent }) => ({ webSearch: webSearchOf(sent, `tools.${type}`, maxUses) }),
  ),
);

/** A tool of the client, or the search that the model's side runs. */
const toolOfFull = (marks: CacheMarks) => {
  const tool = toolOf(marks);
  return reader({ anyOf: [tool.schema, webSearchTool.schema] }, (value, path) =>
    isWebSearchTool(value) ? webSearchTool(value, path) : tool(value, path),
  );
};

const thinking = typed<Thinking>({
  adaptive: object({ display }, (settings) => ({ reasoningDisplay: showing[settings.display ?? 'summarized'] })),
  enabled: object({ budget_tokens: optional(integerBetween(1, null)), display }, (settings) => ({
    reasoningBudget: settings.budget_tokens,
    reasoningDisplay: showing[settings.display ?? 'summarized'],
  })),
  disabled: object({}, () => ({ reasoningBudget: 0, reasoningDisplay: 'none' })),
});

const requestOf = (select: ReaderSelector) =>
  fields(
    {
      model: readName,
      max_tokens: outputTokens(),
      messages: constrained(arrayOf(readMessage), { minItems: 1 }),
      system: optional(systemOf(cacheMarks(select))),
      stream: optional(STREAM),
      temperature: optional(TEMPERATURE),
      top_p: optional(TOP_P),
      top_k: optional(TOP_K),
      stop_sequences: optional(readStopSequences),
      tools: select<(Tool | { readonly webSearch: WebSearch })[]>(
        optional(arrayOf(toolOfFull(cacheMarks(select)))),
        optional(arrayOf(toolOf(cacheMarks(select)))),
      ),
      tool_choice: optional(
        described(anything, '`{"type": "auto"}`, `any`, `none` or `tool` with its `name`; has no effect without tools'),
      ),
      output_config: optional(
        fields({
          effort: optional(oneOf(['low', 'medium', 'high', 'xhigh', 'max'])),
          format: optional(outputFormat),
        }),
      ),
      output_format: optional(described(outputFormat, 'The earlier name of `output_config.format`')),
      metadata: optional(fields({ user_id: optional(described(readString, 'Identifies the end user')) })),
      thinking: select(optional(thinking)),
      cache_control: select(cacheMarks(select).cache_control, forwardedAs('object')),
      billing_policy: ignoredAs('object'),
      context_management: ignoredAs('object'),
      diagnostics: ignored,
      // Other models would answer at other prices.
      fallbacks: ignored,
      fallback_credit_token: ignored,
      service_tier: ignoredAs('string'),
      speed: ignoredAs('string'),
      user_profile_id: ignoredAs('string'),
      workspace_id: ignoredAs('string'),
      container: refused('hosted tools and skills are not offered; send tools with a name and an input_schema'),
      inference_geo: refused('the region of processing cannot be chosen'),
      mcp_servers: refused('hosted tools are not offered; send tools with a name and an input_schema'),
      // The vendor's SDK reads these details, and sends the whole conversation without `thread`.
      thread: refused('conversations are not stored; send all messages', {
        error_code: 'thread_unsupported_request',
        unsupported: ['thread'],
      }),
    },
    { unknown: 'refuse' },
  );

export const READ_REQUEST = byCompatibility(requestOf);

/** The schema of a request. Without tools, the tool choice is not checked. */
export const REQUEST_SCHEMA: JsonSchema = {
  ...READ_REQUEST.full.schema,
  if: { properties: { tools: { type: 'array', minItems: 1 } }, required: ['tools'] },
  // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
  then: { properties: { tool_choice: readToolChoice.schema } },
};
