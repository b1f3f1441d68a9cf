/** Converse in terms of the messages format, which the simulator speaks: the request there, and the answer back. */
import { countOf, isObject, type JsonObject, listOf, objectOf, stringOf } from '../../../domain/json.ts';

const FIELDS = ['messages', 'system', 'inferenceConfig', 'toolConfig', 'outputConfig', 'additionalModelRequestFields'];
const MEDIA = { image: 'image/', document: 'application/' } as const;

/** The value at a path in parsed JSON. */
function at(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>((inner, name) => objectOf(inner)[name], value);
}

/** @throws Error for a body that Bedrock would refuse */
export function toMessages(body: JsonObject, model: string, stream: boolean): JsonObject {
  const unknown = Object.keys(body).find((name) => !FIELDS.includes(name));
  if (unknown !== undefined) throw new Error(`${unknown} is not a field of Converse`);
  const schema = at(body, 'outputConfig', 'textFormat', 'structure', 'jsonSchema', 'schema');
  const thinking = at(body, 'additionalModelRequestFields', 'thinking');
  const tools = listOf(at(body, 'toolConfig', 'tools')).flatMap((tool) => {
    const { name, description, inputSchema } = objectOf(at(tool, 'toolSpec'));
    return name === undefined ? [] : [{ name, description, input_schema: at(inputSchema, 'json') }];
  });
  const sent = {
    model,
    stream,
    max_tokens: at(body, 'inferenceConfig', 'maxTokens') ?? 4_096,
    temperature: at(body, 'inferenceConfig', 'temperature'),
    top_p: at(body, 'inferenceConfig', 'topP'),
    stop_sequences: at(body, 'inferenceConfig', 'stopSequences'),
    system: body['system'] && blocks(body['system']),
    messages: listOf(body['messages']).map((turn) => ({
      role: at(turn, 'role'),
      content: blocks(at(turn, 'content')),
    })),
    tools: tools.length === 0 ? undefined : tools,
    tool_choice: choice(at(body, 'toolConfig', 'toolChoice')),
    output_config:
      typeof schema === 'string'
        ? { format: { type: 'json_schema', schema: JSON.parse(schema) as unknown } }
        : undefined,
    thinking,
  };
  return objectOf(JSON.parse(JSON.stringify(sent)));
}

function choice(given: unknown): JsonObject | undefined {
  if (given === undefined) return undefined;
  const tool = at(given, 'tool');
  if (tool !== undefined) return { type: 'tool', name: at(tool, 'name') };
  return { type: at(given, 'any') === undefined ? 'auto' : 'any' };
}

/** A block is an object with one key. A cache point marks the block before. */
function blocks(given: unknown): JsonObject[] {
  const made: JsonObject[] = [];
  for (const block of listOf(given)) {
    const [[kind, value] = ['', null]] = Object.entries(objectOf(block));
    if (kind !== 'cachePoint') made.push(blockOf(kind, value));
    else {
      const ttl = at(value, 'ttl');
      const mark = { type: 'ephemeral', ...(ttl !== undefined && { ttl }) };
      made[made.length - 1] = { ...made.at(-1), cache_control: mark };
    }
  }
  return made;
}

function blockOf(kind: string, value: unknown): JsonObject {
  switch (kind) {
    case 'text':
      return { type: 'text', text: value };
    case 'image':
    case 'document': {
      const data = at(value, 'source', 'bytes');
      if (typeof data !== 'string') throw new Error(`${kind} needs bytes`);
      const media_type = `${MEDIA[kind]}${stringOf(at(value, 'format'))}`;
      return { type: kind, source: { type: 'base64', media_type, data } };
    }
    case 'toolUse':
      return { type: 'tool_use', id: at(value, 'toolUseId'), name: at(value, 'name'), input: at(value, 'input') };
    case 'toolResult':
      return {
        type: 'tool_result',
        tool_use_id: at(value, 'toolUseId'),
        content: blocks(at(value, 'content')),
        is_error: at(value, 'status') === 'error',
      };
    case 'reasoningContent': {
      const { text, signature } = objectOf(at(value, 'reasoningText'));
      if (text === undefined) return { type: 'redacted_thinking', data: at(value, 'redactedContent') };
      return { type: 'thinking', thinking: text, signature };
    }
    default:
      throw new Error(`${kind} is not a block of Converse`);
  }
}

function usageOf(usage: JsonObject): JsonObject {
  const [inputTokens, outputTokens, cacheReadInputTokens, cacheWriteInputTokens] = [
    'input_tokens',
    'output_tokens',
    'cache_read_input_tokens',
    'cache_creation_input_tokens',
  ].map((name) => countOf(usage[name]) ?? 0);
  return { inputTokens, outputTokens, cacheReadInputTokens, cacheWriteInputTokens };
}

/** The whole answer. */
export function fromMessage(message: JsonObject): JsonObject {
  const content = listOf(message['content']).map((block) => {
    const { type, id, name, input, text, thinking, signature } = objectOf(block);
    if (type === 'text') return { text };
    if (type === 'tool_use') return { toolUse: { toolUseId: id, name, input } };
    return { reasoningContent: { reasoningText: { text: thinking, signature } } };
  });
  return {
    output: { message: { role: 'assistant', content } },
    stopReason: message['stop_reason'],
    usage: usageOf(objectOf(message['usage'])),
    metrics: { latencyMs: 1 },
  };
}

/** The events of the stream for one event of the messages format. @param state the usage so far */
export function fromEvent(event: JsonObject, state: object): readonly (readonly [type: string, body: JsonObject])[] {
  const contentBlockIndex = event['index'];
  switch (event['type']) {
    case 'message_start':
      Object.assign(state, at(event, 'message', 'usage'));
      return [['messageStart', { role: 'assistant' }]];
    case 'content_block_start': {
      const { type, id, name } = objectOf(event['content_block']);
      if (type !== 'tool_use') return [];
      return [['contentBlockStart', { contentBlockIndex, start: { toolUse: { toolUseId: id, name } } }]];
    }
    case 'content_block_delta':
      return [['contentBlockDelta', { contentBlockIndex, delta: deltaOf(objectOf(event['delta'])) }]];
    case 'content_block_stop':
      return [['contentBlockStop', { contentBlockIndex }]];
    case 'message_delta':
      Object.assign(state, event['usage']);
      return [['messageStop', { stopReason: at(event, 'delta', 'stop_reason') }]];
    case 'message_stop':
      return [['metadata', { usage: usageOf({ ...state }), metrics: { latencyMs: 1 } }]];
    default:
      return [];
  }
}

function deltaOf({ type, text, partial_json: input, thinking, signature }: JsonObject): JsonObject {
  if (type === 'text_delta') return { text };
  if (type === 'input_json_delta') return { toolUse: { input } };
  return { reasoningContent: type === 'thinking_delta' ? { text: thinking } : { signature } };
}

export function isErrorEvent(event: unknown): boolean {
  return isObject(event) && event['type'] === 'error';
}
