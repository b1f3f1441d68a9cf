/** A chat-completions body as a canonical request: contract 4.8.1. */
import { badRequest } from '../../domain/errors.ts';
import { type JsonObject, listOf, objectOf } from '../../domain/json.ts';
import type { AssistantPart, TextRequest, Turn, UnusedFields, WebSearch } from '../canonical.ts';
import { CallsByName } from '../calls-by-name.ts';
import { compact, readArray, readId, readName } from '../read.ts';
import { unusedFields } from '../unused-fields.ts';
import { webSearchOf } from '../web-search.ts';
import type { ParseContext } from '../wire-format.ts';
import { imagesOf } from './content.ts';
import { CONTENT, isCustom, READ_REQUEST, readAudioOutput, readMessage } from './request-shape.ts';

type Request = ReturnType<(typeof READ_REQUEST)['full']>;
type Message = ReturnType<typeof readMessage>;
type Content = (typeof CONTENT)['full'];

export function parseRequest(body: unknown, { compatibility = 'specification' }: ParseContext = {}): TextRequest {
  const request = READ_REQUEST[compatibility](body, '');
  const hasAudio = request.get('modalities')?.includes('audio') === true;
  const calls = new CallsByName();
  const turns = request.getAs('messages', (value, path) =>
    readArray(value, path, (item, at) => turnOf(readMessage(item, at), CONTENT[compatibility], calls)),
  );
  if (turns.length === 0) throw badRequest('"messages" requires at least 1 item');
  return compact({
    model: request.get('model'),
    stream: request.get('stream') ?? false,
    includeUsage: request.get('stream_options')?.include_usage,
    turns,
    ...toolsOf(request, calls.count > 0),
    sampling: samplingOf(request),
    reasoningEffort: request.get('reasoning_effort'),
    outputFormat: request.get('response_format'),
    verbosity: request.get('verbosity'),
    audioOutput: hasAudio ? request.getAs('audio', readAudioOutput) : undefined,
    unused: unusedFields(request.unused(), hasAudio ? undefined : unusedAudio(request)),
    userId: request.get('user'),
    promptCacheKey: request.get('prompt_cache_key'),
    chatFields: chatFieldsOf(request),
    webSearch: compatibility === 'full' ? webSearchIn(request) : undefined,
  });
}

/** The tools, including those under the older name `functions`. */
function toolsOf(
  request: Request,
  hasFunctionCalls: boolean,
): Pick<TextRequest, 'tools' | 'toolChoice' | 'parallelToolCalls' | 'functions' | 'hasVendorTools'> {
  const tools = request.get('tools');
  const functions = request.get('functions');
  const { toolChoice, allowed } = request.get('tool_choice') ?? {};
  const functionChoice = request.get('function_call');
  const parallel = request.get('parallel_tool_calls');
  const answers = functions !== undefined && tools === undefined;
  const all = [...(tools ?? []), ...(functions ?? [])];
  return {
    tools: allowed === undefined ? all : all.filter(({ name }) => allowed.has(name)),
    toolChoice: toolChoice ?? functionChoice,
    // An answer that uses functions has room for one call only.
    parallelToolCalls: answers ? false : parallel,
    functions: functions !== undefined || functionChoice !== undefined || hasFunctionCalls ? { answers } : undefined,
    hasVendorTools: allowed !== undefined || hasCustomTools(request.object) || undefined,
  };
}

/** Whether tools, or calls in the conversation, take free text. */
function hasCustomTools({ tools, messages }: JsonObject): boolean {
  const calls = listOf(messages).flatMap((message) => listOf(objectOf(message)['tool_calls']));
  return [...listOf(tools), ...calls].some(isCustom);
}

function chatFieldsOf(request: Request): JsonObject | undefined {
  const options = request.get('web_search_options');
  return options === undefined ? undefined : { web_search_options: options };
}

/** The settings of audio in a request for text. */
function unusedAudio(request: Request): UnusedFields | undefined {
  return request.get('audio') === undefined ? undefined : { always: ['audio'], converted: [] };
}

function webSearchIn(request: Request): WebSearch | undefined {
  const options = request.get('web_search_options');
  if (options === undefined) return undefined;
  return webSearchOf(
    { user_location: objectOf(options['user_location'])['approximate'] },
    'web_search_options',
    undefined,
  );
}

function samplingOf(request: Request): TextRequest['sampling'] {
  return compact({
    maxOutputTokens: largest(request.get('max_completion_tokens'), request.get('max_tokens')),
    temperature: request.get('temperature'),
    topP: request.get('top_p'),
    topK: request.get('top_k'),
    stopSequences: request.get('stop'),
    seed: request.get('seed'),
    frequencyPenalty: request.get('frequency_penalty'),
    presencePenalty: request.get('presence_penalty'),
    choiceCount: request.get('n'),
  });
}

/** Some clients send the bound under both its names. */
function largest(...bounds: readonly (number | undefined)[]): number | undefined {
  const set = bounds.filter((bound) => bound !== undefined);
  return set.length === 0 ? undefined : Math.max(...set);
}

function turnOf(message: Message, content: Content, calls: CallsByName): Turn {
  switch (message.get('role')) {
    case 'system':
    case 'developer':
      return { role: 'system', parts: message.getAs('content', content.system) };
    case 'user':
      return { role: 'user', parts: message.getAs('content', content.input) };
    case 'assistant':
      return { role: 'assistant', parts: answerOf(message, content, calls) };
    case 'function':
      return functionResultOf(message, content, calls);
    default: {
      const callId = message.getAs('tool_call_id', readId);
      return {
        role: 'tool',
        parts: [{ type: 'tool-result', callId, content: message.getAs('content', content.input) }],
      };
    }
  }
}

/** The parts of an assistant message in the order in which models write them: reasoning, text, tool calls. */
function answerOf(message: Message, content: Content, functionCalls: CallsByName): AssistantPart[] {
  const reasoning = message.get('reasoning_content') ?? message.get('reasoning');
  const parts = message.getAs('content', content.answer);
  const refusal = message.get('refusal');
  const calls = message.get('tool_calls');
  const called = message.get('function_call');
  const audio = message.get('audio') ?? null;
  const images = imagesOf(message.object);
  return [
    ...(reasoning === undefined || reasoning === '' ? [] : [{ type: 'reasoning', text: reasoning } as const]),
    ...(parts ?? []),
    ...(refusal === undefined || refusal === '' ? [] : [{ type: 'text', text: refusal } as const]),
    ...(audio === null
      ? []
      : [parts?.some(({ type }) => type === 'text') === true ? { ...audio, isInText: true } : audio]),
    ...images.map((source) => ({ type: 'image', source }) as const),
    ...(calls ?? []),
    ...(called === undefined
      ? []
      : [{ type: 'tool-call', callId: functionCalls.add(undefined, called.name), ...called } as const]),
  ];
}

/** A message that answers a function call, which it identifies by the function's name. */
function functionResultOf(message: Message, content: Content, calls: CallsByName): Turn {
  const name = message.getAs('name', readName);
  const callId = calls.answer(undefined, name);
  if (callId === null) throw badRequest(`"${message.path}" must answer a function_call of "${name}" before it`);
  const result = message.getAs('content', (value, path) => content.input(value ?? '', path));
  return { role: 'tool', parts: [{ type: 'tool-result', callId, name, content: result }] };
}
