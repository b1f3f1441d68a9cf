import { expect } from 'chai';
import { type JsonObject, listOf, objectOf, stringOf } from '../../../domain/json.ts';
import type { AnswerPart, FinishReason, TextRequest, TextResult } from '../../../text/canonical.ts';
import { chatCompletions } from '../../../text/chat-completions/index.ts';
import { compact } from '../../../text/read.ts';
import { DONE, type ServerSentEvent } from '../../../text/sse.ts';
import { itKeepsTheLawsOfAFormat } from '../support.ts';

interface FoldedCall {
  id: unknown;
  type: unknown;
  function: { name: unknown; arguments: string };
}

interface FoldedMessage {
  role?: unknown;
  content: string | null;
  reasoning_content?: string;
  tool_calls?: FoldedCall[];
}

/** Accumulates chunks as the openai package does. */
function foldStream(events: readonly ServerSentEvent[]): JsonObject {
  expect(events.at(-1)?.data).to.equal(DONE);
  const choices: { index: number; message: FoldedMessage; logprobs: null; finish_reason: unknown }[] = [];
  let completion: JsonObject = {};
  for (const event of events.slice(0, -1)) {
    const chunk = objectOf(JSON.parse(event.data));
    const { id, created, model, usage } = chunk;
    completion = { id, object: 'chat.completion', created, model, choices, usage };
    for (const item of listOf(chunk['choices'])) {
      const { index, delta, finish_reason: finishReason } = objectOf(item);
      const at = Number(index);
      const choice = (choices[at] ??= { index: at, message: { content: null }, logprobs: null, finish_reason: null });
      foldDelta(choice.message, objectOf(delta));
      // A message with calls has no text where a stream has an empty one.
      if (choice.message.tool_calls !== undefined && choice.message.content === '') choice.message.content = null;
      choice.finish_reason = finishReason;
    }
  }
  return completion;
}

function foldDelta(message: FoldedMessage, delta: JsonObject): void {
  if ('role' in delta) message.role = delta['role'];
  if (typeof delta['content'] === 'string') message.content = (message.content ?? '') + delta['content'];
  const reasoning = stringOf(delta['reasoning_content']);
  if (reasoning !== '') message.reasoning_content = (message.reasoning_content ?? '') + reasoning;
  for (const item of listOf(delta['tool_calls'])) {
    const { index, id, type, function: called } = objectOf(item);
    const { name, arguments: text } = objectOf(called);
    const calls = (message.tool_calls ??= []);
    const call = (calls[Number(index)] ??= { id, type, function: { name, arguments: '' } });
    call.function.arguments += stringOf(text);
  }
}

const REASONS: Partial<Record<FinishReason, FinishReason>> = { 'stop-sequence': 'stop' };

/** A message has one text and one piece of reasoning, without a signature, and its tool calls come last. */
function expressibleParts(parts: readonly AnswerPart[]): AnswerPart[] {
  const joined = (type: 'text' | 'reasoning'): AnswerPart[] => {
    const text = parts.map((part) => (part.type === type ? part.text : '')).join('');
    return text === '' ? [] : [{ type, text }];
  };
  return [...joined('reasoning'), ...joined('text'), ...parts.filter((part) => part.type === 'tool-call')];
}

function expressibleResult(result: TextResult): TextResult {
  const choices = result.choices.map(({ parts, finish }) => ({
    parts: expressibleParts(parts),
    finish: { reason: REASONS[finish.reason] ?? finish.reason },
  }));
  return { ...result, choices, usage: { ...result.usage, cacheWrite1h: null } };
}

/** Each tool result is a message without a name, links have no media type, and tools have a strict flag. */
function expressibleRequest(request: TextRequest): TextRequest {
  const turns = request.turns.flatMap((turn): TextRequest['turns'] => {
    if (turn.role === 'assistant')
      return [
        {
          role: 'assistant',
          parts: expressibleParts(turn.parts.filter((part) => part.type !== 'audio' && part.type !== 'image')),
        },
      ];
    if (turn.role === 'tool') {
      return turn.parts.map(({ callId, content }) => ({
        role: 'tool',
        parts: [{ type: 'tool-result', callId, content }],
      }));
    }
    if (turn.role === 'system') return [turn];
    const parts = turn.parts.map((part) => {
      if (part.type === 'text' || part.source.kind === 'base64') return part;
      return { ...part, source: { kind: 'url', url: part.source.url } } as const;
    });
    return [{ role: 'user', parts }];
  });
  const tools = request.tools.map((tool) => ({ strict: false, ...tool }));
  return compact({ ...request, turns, tools, includeUsage: request.stream ? true : undefined });
}

describe('chat completions', () => {
  itKeepsTheLawsOfAFormat(chatCompletions, { foldStream, expressibleResult, expressibleRequest, maximumChoices: 3 });
});
