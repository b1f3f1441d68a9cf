/** The chat-completions format: https://platform.openai.com/docs/api-reference/chat */
import { type JsonObject, listOf, objectOf, stringOf } from '../../domain/json.ts';
import { USUAL_PCM, wavHeader } from '../../domain/wav.ts';
import { tone } from '../realtime/tone.ts';
import type { Conversation, Entry, OfferedTool, ToolChoice } from './conversation.ts';
import { badRequest } from './failure.ts';
import { numberOf, readContent, stringsOf } from './fields.ts';
import { newId, nowSeconds, streamBlocks, type Block, type StreamedAnswer, type SimulatedFormat } from './format.ts';
import { openaiCommon, openaiError } from './openai.ts';
import { type Finish, PIECE_MS, type Script, type ScriptedCall, type Usage } from './script.ts';
import { pagesFor } from './searches.ts';
import { splitIntoPieces } from './tokens.ts';

const MAX_CHOICES = 128;
const AUDIO_LIFETIME_S = 3_600;

export const chatCompletions: SimulatedFormat = {
  ...openaiCommon,
  paths: ['/v1/chat/completions'],

  open(input) {
    const body = objectOf(input);
    const conversation = readConversation(body);
    const audioFormat = formatOf(body);
    const includeUsage = objectOf(body['stream_options'])['include_usage'] === true;
    return {
      conversation,
      renderWhole: (script) => renderWhole(conversation, script, audioFormat),
      renderStream: (script) => renderStream(conversation, script, includeUsage),
    };
  },
};

function readConversation(body: JsonObject): Conversation {
  const model = stringOf(body['model']);
  if (model === '') throw badRequest('you must provide a model parameter');
  const messages = listOf(body['messages']);
  if (messages.length === 0) throw badRequest("Missing required parameter: 'messages'.");
  return {
    model,
    stream: body['stream'] === true,
    entries: messages.flatMap((message) => readMessage(objectOf(message))),
    tools: listOf(body['tools']).flatMap((tool) => readTool(objectOf(objectOf(tool)['function']))),
    maxSearches: body['web_search_options'] === undefined ? 0 : 1,
    toolChoice: readToolChoice(body['tool_choice']),
    parallelCalls: body['parallel_tool_calls'] !== false,
    maxOutputTokens: numberOf(body['max_completion_tokens']) ?? numberOf(body['max_tokens']),
    stopSequences: stringsOf(body['stop']),
    reasoningAllowed: body['reasoning_effort'] !== 'none',
    answerSchema: readAnswerSchema(objectOf(body['response_format'])),
    choiceCount: Math.min(numberOf(body['n']) ?? 1, MAX_CHOICES),
    isSpoken: listOf(body['modalities']).includes('audio'),
  };
}

/** The format of a spoken answer; null for a text. */
function formatOf(body: JsonObject): string | null {
  if (!listOf(body['modalities']).includes('audio')) return null;
  const { voice, format } = objectOf(body['audio']);
  if (voice === undefined || stringOf(format) === '') throw badRequest("Missing required parameter: 'audio'.");
  if (body['stream'] === true && format !== 'pcm16') {
    throw badRequest("Unsupported value: 'audio.format' does not support this value when stream=true.");
  }
  return stringOf(format);
}

function readMessage(message: JsonObject): Entry[] {
  const content = readContent(message['content']);
  switch (message['role']) {
    case 'system':
    case 'developer':
      return [{ kind: 'text', role: 'system', ...content }];
    case 'user':
      return [{ kind: 'text', role: 'user', ...content }];
    case 'assistant':
      return [
        { kind: 'text', role: 'assistant', ...content },
        ...listOf(message['tool_calls']).map((call) => readCall(objectOf(call))),
      ];
    case 'tool':
      return [{ kind: 'result', callId: stringOf(message['tool_call_id']), name: null, ...content }];
    default:
      throw badRequest(`Invalid value: '${stringOf(message['role'])}' is no role of a message.`);
  }
}

function readCall(call: JsonObject): Entry {
  const called = objectOf(call['function']);
  return {
    kind: 'call',
    id: stringOf(call['id']),
    name: stringOf(called['name']),
    arguments: stringOf(called['arguments']),
  };
}

/** @param tool `{name, description, parameters}` */
export function readTool(tool: JsonObject): OfferedTool[] {
  const name = stringOf(tool['name']);
  return name === '' ? [] : [{ name, description: stringOf(tool['description']), schema: tool['parameters'] }];
}

/** The name of a forced tool is in the choice itself or, in this format, under `function`. */
export function readToolChoice(choice: unknown): ToolChoice {
  if (choice === 'none' || choice === 'required') return choice;
  const name = stringOf(objectOf(objectOf(choice)['function'])['name']) || stringOf(objectOf(choice)['name']);
  return name === '' ? 'auto' : { name };
}

function readAnswerSchema(format: JsonObject): unknown {
  if (format['type'] === 'json_object') return { type: 'object' };
  return format['type'] === 'json_schema' ? (objectOf(format['json_schema'])['schema'] ?? {}) : undefined;
}

const FINISH_REASONS: Readonly<Record<Finish['reason'], string>> = {
  stop: 'stop',
  'stop-sequence': 'stop',
  length: 'length',
  'tool-calls': 'tool_calls',
};

function renderWhole({ model, choiceCount }: Conversation, script: Script, audioFormat: string | null): object {
  const { usage, finish } = script;
  return {
    id: newId('chatcmpl-'),
    object: 'chat.completion',
    created: nowSeconds(),
    model,
    choices: Array.from({ length: choiceCount }, (_, index) => ({
      index,
      message: audioFormat === null ? renderMessage(script) : renderSpoken(script, audioFormat),
      logprobs: null,
      finish_reason: FINISH_REASONS[finish.reason],
    })),
    ...(usage === null ? {} : { usage: renderUsage(usage) }),
    service_tier: 'default',
    system_fingerprint: 'fp_simulated',
  };
}

function renderAnnotations(searches: Script['searches']): readonly object[] {
  return searches.flatMap(pagesFor).map(({ url, title }) => ({
    type: 'url_citation',
    url_citation: { url, title, start_index: 0, end_index: 0 },
  }));
}

function renderMessage({ reasoning, text, calls, searches }: Script): object {
  return {
    role: 'assistant',
    content: text.length === 0 && calls.length > 0 ? null : text.join(''),
    ...(reasoning.length === 0 ? {} : { reasoning_content: reasoning.join('') }),
    refusal: null,
    annotations: renderAnnotations(searches),
    ...(calls.length === 0 ? {} : { tool_calls: calls.map(renderCall) }),
  };
}

/** The text is the transcript. Formats other than `pcm16` are a WAV file. */
function renderSpoken(script: Script, format: string): object {
  const samples = Buffer.from(tone(PIECE_MS * script.text.length), 'base64');
  const bytes = format === 'pcm16' ? samples : Buffer.concat([wavHeader(USUAL_PCM, samples.byteLength), samples]);
  const audio = { id: newId('audio_'), data: bytes.toString('base64'), transcript: script.text.join('') };
  return { ...renderMessage(script), content: null, audio: { ...audio, expires_at: nowSeconds() + AUDIO_LIFETIME_S } };
}

function renderCall({ name, arguments: text }: ScriptedCall): object {
  return { id: newId('call_'), type: 'function', function: { name, arguments: text } };
}

function renderUsage({ input, cached, output, reasoning, audioInput, audioOutput }: Usage): object {
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cached, audio_tokens: audioInput },
    completion_tokens_details: {
      reasoning_tokens: reasoning,
      audio_tokens: audioOutput,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  };
}

function renderStream(
  { model, choiceCount, isSpoken }: Conversation,
  script: Script,
  includeUsage: boolean,
): StreamedAnswer {
  const { reasoning, text, calls, searches, finish, usage } = script;
  const annotations = searches.length === 0 ? '{}' : JSON.stringify({ annotations: renderAnnotations(searches) });
  const reportedUsage = includeUsage ? usage : null;
  const envelope = JSON.stringify({
    id: newId('chatcmpl-'),
    object: 'chat.completion.chunk',
    created: nowSeconds(),
    model,
    service_tier: 'default',
    system_fingerprint: 'fp_simulated',
  });
  const head = `data: ${envelope.slice(0, -1)},"choices":[`;
  const tail = reportedUsage === null ? '}\n\n' : ',"usage":null}\n\n';
  const starts = Array.from({ length: choiceCount }, (_, index) => `${head}{"index":${index},"delta":`);
  const frame = (delta: string, reason = 'null'): string => {
    const end = `${delta},"logprobs":null,"finish_reason":${reason}}]${tail}`;
    return starts.map((start) => start + end).join('');
  };
  const isSilent = isSpoken !== true;
  const content = text.length === 0 && calls.length > 0 ? 'null' : '""';
  return streamBlocks({
    opening: frame(`{"role":"assistant","content":${content},"refusal":null}`),
    blocks: [
      textBlock(reasoning, 'reasoning_content', frame),
      isSilent ? textBlock(text, 'content', frame) : audioBlock(text, frame),
      ...calls.map((call, index) => callBlock(call, index, frame)),
    ],
    ending() {
      const usageFrame = reportedUsage && `${head}],"usage":${JSON.stringify(renderUsage(reportedUsage))}}\n\n`;
      return `${frame(annotations, `"${FINISH_REASONS[finish.reason]}"`)}${usageFrame ?? ''}data: [DONE]\n\n`;
    },
    malformed: `${head}{"index":0,"delta":{"con\n\n`,
    renderFailure: (failure) => `data: ${JSON.stringify({ error: openaiError(failure) })}\n\n`,
  });
}

type Frame = (delta: string) => string;

const NOTHING = (): string => '';

function textBlock(pieces: readonly string[], field: string, frame: Frame): Block {
  const delta = (piece: string): string => frame(`{"${field}":${JSON.stringify(piece)}}`);
  return { pieces, opening: NOTHING, delta, closing: NOTHING };
}

/** Each piece is said. The first has the id, and the last part of the block the time until which the id is known. */
function audioBlock(pieces: readonly string[], frame: Frame): Block {
  const id = newId('audio_');
  const delta = (audio: object): string => frame(JSON.stringify({ audio }));
  return {
    pieces,
    opening: () => delta({ id, transcript: '' }),
    delta: (piece) => delta({ transcript: piece }) + delta({ data: tone(PIECE_MS) }),
    closing: () => delta({ expires_at: nowSeconds() + AUDIO_LIFETIME_S }),
  };
}

function callBlock(call: ScriptedCall, index: number, frame: Frame): Block {
  const start = { index, ...renderCall({ name: call.name, arguments: '' }) };
  return {
    pieces: splitIntoPieces(call.arguments),
    opening: () => frame(JSON.stringify({ tool_calls: [start] })),
    delta: (piece) => frame(`{"tool_calls":[{"index":${index},"function":{"arguments":${JSON.stringify(piece)}}}]}`),
    closing: NOTHING,
  };
}
