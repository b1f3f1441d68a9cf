/** The fields of a chat-completions request: those of contract 4.8.1, and others of the format, without effect. */
import { isObject, type JsonObject } from '../../domain/json.ts';
import { CHAT_AUDIO_FORMATS } from '../../domain/speech-format.ts';
import type {
  AudioOutput,
  AudioPart,
  FilePart,
  ImagePart,
  InputPart,
  OutputFormat,
  ReasoningPart,
  TextPart,
  Tool,
  ToolCallPart,
  ToolChoice,
} from '../canonical.ts';
import { pictureOf, readUrl } from '../data-url.ts';
import {
  byCompatibility,
  fields,
  ignored,
  ignoredAs,
  object,
  forwarded,
  forwardedAs,
  type ReaderSelector,
  record,
  refused,
  typed,
} from '../fields.ts';
import { argumentsOfText } from '../free-text-tools.ts';
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
  reader,
  type Reader,
  readBoolean,
  readId,
  readName,
  readObject,
  readStops,
  readString,
  readText,
  textOr,
} from '../read.ts';
import {
  cacheMarks,
  type CacheMarks,
  EFFORT,
  JSON_SCHEMA,
  outputTokens,
  PENALTY,
  readRefusal,
  STREAM,
  TEMPERATURE,
  textPartOf,
  TOP_K,
  TOP_P,
  VERBOSITY,
} from '../settings.ts';
import { readCustomTool, readFunction } from '../tools.ts';
import { reasoningText } from './content.ts';
import { signatureOf } from './signatures.ts';

const MAXIMUM_CHOICES = 128;

/** The type of tools that take free text, and of their calls. */
const CUSTOM = 'custom';

/** Whether a tool, a call or a choice is of a tool that takes free text. */
export function isCustom(value: unknown): boolean {
  return isObject(value) && value['type'] === CUSTOM;
}

const WHERE_OFFERED = 'Accepted; has an effect only if the model’s upstream offers it without extra charge';

const imagePartOf = (marks: CacheMarks) =>
  object(
    { ...marks, image_url: record({ url: mapped(readUrl, pictureOf), detail: optional(readString) }) },
    ({ image_url: { url, detail }, cache_control: cacheBreakpoint }): ImagePart =>
      compact({ type: 'image', source: url, detail, cacheBreakpoint }),
  );

const filePartOf = (marks: CacheMarks) =>
  object(
    {
      ...marks,
      file: record({
        file_id: refused('send the file in "file_data"'),
        file_data: readUrl,
        filename: optional(readString),
      }),
    },
    ({ file: { file_data: source, filename }, cache_control: cacheBreakpoint }): FilePart =>
      compact({ type: 'file', source, filename, cacheBreakpoint }),
  );

/** A video as other vendors of the format take it: https://docs.vllm.ai/en/latest/features/multimodal_inputs. */
const videoPartOf = (marks: CacheMarks) =>
  object(
    { ...marks, video_url: record({ url: readUrl }) },
    ({ video_url: { url }, cache_control: cacheBreakpoint }): FilePart =>
      compact({ type: 'file', source: url.kind === 'url' ? { ...url, mediaType: 'video/mp4' } : url, cacheBreakpoint }),
  );

const audioPart = object(
  { input_audio: record({ format: oneOf(['wav', 'mp3']), data: described(readText, 'Base64') }) },
  ({ input_audio: { format, data } }): FilePart => {
    return { type: 'file', source: { kind: 'base64', mediaType: `audio/${format}`, data } };
  },
);

/** Clients send the parts of an answer back as the upstream sent them, including reasoning. */
const thinkingPart = mapped(readObject, (part): ReasoningPart => ({ type: 'reasoning', text: reasoningText(part) }));

const inputPartsOf = (marks: CacheMarks) => ({
  text: textPartOf(marks),
  image_url: imagePartOf(marks),
  file: filePartOf(marks),
  input_audio: audioPart,
  video_url: videoPartOf(marks),
});

/** The content of messages by role, and that of any role. */
export const CONTENT = byCompatibility((select) => {
  const inputParts = inputPartsOf(cacheMarks(select));
  const { text } = inputParts;
  const answerParts = { text, refusal: readRefusal, thinking: thinkingPart, reasoning: thinkingPart };
  return {
    system: contentOf(typed<TextPart>({ text })),
    input: contentOf(typed<InputPart>(inputParts)),
    answer: select(
      optional(
        contentOf(typed<TextPart | ReasoningPart | ImagePart>({ ...answerParts, image_url: inputParts.image_url })),
      ),
      optional(contentOf(typed<TextPart | ReasoningPart | ImagePart>(answerParts))),
    ),
    any: named('ChatContentPart', typed<InputPart>({ ...inputParts, refusal: readRefusal })),
  };
});

const called = object(
  { name: readName, arguments: optional(described(readString, 'JSON')) },
  (call): Pick<ToolCallPart, 'name' | 'arguments'> => ({ name: call.name, arguments: call.arguments || '{}' }),
);

/** A call in the earlier form. Some upstreams send one without a name for none, and clients send it back. */
const functionCall = reader(called.schema, (value, path) =>
  isObject(value) && value['name'] === '' ? undefined : called(value, path),
);

const callHead = { id: readId, extra_content: optional(described(readObject, 'As in the answer with the call')) };

const callOfFunction = named(
  'ChatToolCall.function',
  object(
    { ...callHead, type: optional(oneOf(['function'])), function: called },
    ({ id: callId, function: { name, arguments: text }, extra_content }): ToolCallPart =>
      compact({ type: 'tool-call', callId, name, arguments: text, signature: signatureOf({ extra_content }) }),
  ),
);

/** The call of a tool that takes free text. */
const callOfCustom = object(
  { ...callHead, type: oneOf([CUSTOM]), custom: record({ name: readName, input: readString }) },
  ({ id: callId, custom: { name, input }, extra_content }): ToolCallPart =>
    compact({
      type: 'tool-call',
      callId,
      name,
      arguments: argumentsOfText(input),
      signature: signatureOf({ extra_content }),
    }),
);

const toolCall = named(
  'ChatToolCall',
  reader({ oneOf: [callOfFunction.schema, callOfCustom.schema] }, (value, path) =>
    isCustom(value) ? callOfCustom(value, path) : callOfFunction(value, path),
  ),
);

/** Clients send the audio of an answer back as a whole, or only its id. Some upstreams send an empty object for none. */
function readAnsweredAudio({ id, transcript }: JsonObject): AudioPart | null {
  const audioId = typeof id === 'string' && id !== '' ? readId(id, 'audio.id') : undefined;
  const text = typeof transcript === 'string' && transcript !== '' ? transcript : undefined;
  return audioId === undefined && text === undefined
    ? null
    : compact({ type: 'audio', audioId, transcript: text } as const);
}

/** Clients send answers back unchanged, so unknown fields have no effect. */
export const readMessage = named(
  'ChatMessage',
  fields({
    role: oneOf(['system', 'developer', 'user', 'assistant', 'tool', 'function']),
    content: optional(
      described(contentOf(CONTENT.full.any), 'Required, except for `assistant`; `system` takes text parts only'),
    ),
    reasoning_content: optional(described(readString, 'For `assistant`: the reasoning')),
    reasoning: optional(described(readString, 'The same as `reasoning_content`, by another service’s name')),
    refusal: optional(readString),
    tool_calls: optional(arrayOf(toolCall)),
    tool_call_id: optional(described(readId, 'For `tool`: the id of the answered call')),
    name: optional(described(readString, 'For `function`: the function that answers; otherwise no effect')),
    annotations: ignored,
    images: optional(described(arrayOf(anything), 'For `assistant`: the images of an answer')),
    audio: optional(described(mapped(readObject, readAnsweredAudio), 'The audio of an answer, by its `id`')),
    function_call: optional(described(functionCall, 'The earlier name of `tool_calls`')),
  }),
);

const FUNCTION_TOOL = byCompatibility((select) => ({
  function: object(
    { ...cacheMarks(select), function: readFunction },
    ({ function: tool, cache_control: cacheBreakpoint }): Tool => compact({ ...tool, cacheBreakpoint }),
  ),
}));
const TOOL = {
  full: typed<Tool>({ ...FUNCTION_TOOL.full, [CUSTOM]: object({ custom: readCustomTool }, (tool) => tool.custom) }),
  specification: typed<Tool>(FUNCTION_TOOL.specification),
};

const reference = object({ name: readName }, ({ name }) => name);
const toolByName = mapped(reference, (name): ToolChoice => ({ type: 'tool', name }));

/** A choice among the tools, and the names of those that may be called. */
interface ChosenTools {
  readonly toolChoice: ToolChoice;
  readonly allowed?: ReadonlySet<string> | undefined;
}

const plainChoice = mapped(oneOf(['auto', 'none', 'required']), (type): ChosenTools => ({ toolChoice: { type } }));
const functionByName = {
  function: object({ function: toolByName }, (choice): ChosenTools => ({ toolChoice: choice.function })),
};
const references = typed<string>({
  function: object({ function: reference }, (tool) => tool.function),
  [CUSTOM]: object({ custom: reference }, (tool) => tool.custom),
});
const allowedTools = record({ mode: oneOf(['auto', 'required']), tools: arrayOf(references) });
const TOOL_CHOICE = {
  full: textOr<ChosenTools>(
    plainChoice,
    typed<ChosenTools>({
      ...functionByName,
      [CUSTOM]: object({ custom: toolByName }, (choice) => ({ toolChoice: choice.custom })),
      allowed_tools: object({ allowed_tools: allowedTools }, ({ allowed_tools: { mode, tools } }) => ({
        toolChoice: { type: mode },
        allowed: new Set(tools),
      })),
    }),
  ),
  specification: textOr<ChosenTools>(plainChoice, typed<ChosenTools>(functionByName)),
};

const functionChoice = textOr<ToolChoice>(
  mapped(oneOf(['auto', 'none']), (type) => ({ type })),
  toolByName,
);

const outputFormat = typed<OutputFormat | undefined>({
  text: object({}, () => undefined),
  // Some compatible services take the schema here.
  json_object: object({ schema: optional(JSON_SCHEMA) }, ({ schema }) =>
    schema === undefined ? { type: 'json-object' } : { type: 'json-schema', name: 'answer', schema },
  ),
  json_schema: object(
    {
      json_schema: record({
        name: readName,
        description: optional(readString),
        schema: optional(JSON_SCHEMA),
        strict: optional(readBoolean),
      }),
    },
    ({ json_schema: definition }) => compact({ type: 'json-schema', ...definition } as const),
  ),
});

const customVoice = record({ id: readName });
/** The value of `audio` in requests with the modality `audio`. */
export const readAudioOutput: Reader<AudioOutput> = record({
  voice: reader({ oneOf: [readName.schema, customVoice.schema] }, (value, path) =>
    isObject(value) ? customVoice(value, path) : readName(value, path),
  ),
  format: oneOf(CHAT_AUDIO_FORMATS),
});

const modalitiesOf = (names: readonly string[]) =>
  optional(
    described(
      arrayOf(oneOf(names)),
      '`["text", "audio"]` for an answer with audio, if the model has it. Models of images need no `image`',
    ),
  );
const audio = optional(
  constrained(described(readObject, 'With the modality `audio`: the voice and the format'), {
    properties: readAudioOutput.schema['properties'],
  }),
);

/** https://openrouter.ai/docs/api-reference/overview */
const OPENROUTER_SETTINGS = {
  include_reasoning: ignoredAs('boolean'),
  models: ignoredAs('array'),
  plugins: ignoredAs('array'),
  provider: ignoredAs('object'),
  route: ignoredAs('string'),
  session_id: ignoredAs('string'),
  transforms: ignored,
  usage: ignoredAs('object'),
};

/** Settings of vLLM, Mistral and OpenRouter: https://docs.vllm.ai/en/latest/serving/openai_compatible_server. */
const VENDOR_SETTINGS = {
  guided_choice: forwardedAs('array'),
  guided_grammar: forwardedAs('string'),
  guided_json: forwarded,
  guided_regex: forwardedAs('string'),
  ignore_eos: forwardedAs('boolean'),
  min_tokens: forwardedAs('number'),
  mm_processor_kwargs: forwardedAs('object'),
  random_seed: forwardedAs('number'),
  safe_prompt: forwardedAs('boolean'),
  skip_special_tokens: forwardedAs('boolean'),
  stop_token_ids: forwardedAs('array'),
  structured_outputs: forwardedAs('object'),
  top_a: forwardedAs('number'),
};

const requestOf = (select: ReaderSelector) =>
  fields(
    {
      model: readName,
      messages: constrained(arrayOf(readMessage), { minItems: 1 }),
      max_tokens: optional(outputTokens()),
      max_completion_tokens: optional(
        described(
          outputTokens(),
          'Same as `max_tokens`; the larger of both counts. The default depends on the balance',
        ),
      ),
      stream: optional(STREAM),
      stream_options: optional(
        record({ include_usage: optional(described(readBoolean, 'Whether the last chunk reports the usage')) }),
      ),
      temperature: optional(TEMPERATURE),
      top_p: optional(TOP_P),
      top_k: optional(TOP_K),
      stop: optional(readStops),
      tools: select(optional(arrayOf(TOOL.full)), optional(arrayOf(TOOL.specification))),
      tool_choice: select(optional(TOOL_CHOICE.full), optional(TOOL_CHOICE.specification)),
      parallel_tool_calls: optional(readBoolean),
      n: optional(described(integerBetween(1, MAXIMUM_CHOICES), 'Number of answers')),
      seed: optional(integerBetween(null, null)),
      frequency_penalty: optional(PENALTY),
      presence_penalty: optional(PENALTY),
      response_format: optional(outputFormat),
      reasoning_effort: optional(EFFORT),
      verbosity: optional(VERBOSITY),
      user: optional(described(readString, 'Identifies the end user')),
      modalities: select(modalitiesOf(['text', 'audio', 'image']), modalitiesOf(['text', 'audio'])),
      logit_bias: forwardedAs('object'),
      logprobs: forwardedAs('boolean'),
      top_logprobs: forwardedAs('number'),
      metadata: ignoredAs('object'),
      moderation: ignored,
      prediction: ignoredAs('object'),
      prompt_cache_key: optional(described(readString, 'Names the conversation for the cache of the model')),
      prompt_cache_options: ignoredAs('object'),
      prompt_cache_retention: ignoredAs('string'),
      safety_identifier: forwardedAs('string'),
      service_tier: ignoredAs('string'),
      store: ignoredAs('boolean'),
      // Not standard, but sent by many clients of compatible services.
      chat_template_kwargs: forwardedAs('object'),
      image_config: forwardedAs('object'),
      enable_thinking: forwardedAs('boolean', { isOnByDefault: true }),
      min_p: forwardedAs('number'),
      reasoning: forwardedAs('object'),
      reasoning_split: forwardedAs('boolean'),
      repetition_penalty: forwardedAs('number'),
      thinking: forwardedAs('object'),
      thinking_budget: forwardedAs('number'),
      tool_stream: forwardedAs('boolean'),
      extra_body: ignoredAs('object'),
      ...VENDOR_SETTINGS,
      ...OPENROUTER_SETTINGS,
      audio,
      // No effect unless the route passes it on.
      web_search_options: optional(described(readObject, WHERE_OFFERED)),
      // The earlier names of tools and their choice.
      functions: optional(
        described(arrayOf(readFunction), 'The earlier name of `tools`; the answer then uses `function_call`'),
      ),
      function_call: optional(functionChoice),
    },
    { unknown: 'refuse' },
  );

export const READ_REQUEST = byCompatibility(requestOf);
