/** The answers of Converse as canonical events: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html */
import { countOf, isObject, type JsonObject, listOf, objectOf, stringOf } from '../../domain/json.ts';
import { parseEventData } from '../answer-json.ts';
import { type AnswerPart, type StreamEvent, UNREPORTED_USAGE, type Usage } from '../canonical.ts';
import { eventsOfPart } from '../collect.ts';
import { checkFinish, finishReasonOf } from '../finish-reasons.ts';
import { compact } from '../read.ts';
import type { ServerSentEvent } from '../sse.ts';
import type { Emit, Stage } from '../stage.ts';
import { argumentsTextOf } from '../turns.ts';
import { malformedAnswer, readErrorMessage, type UpstreamError, upstreamError } from '../upstream-errors.ts';

export function parseResult(body: unknown): StreamEvent[] {
  if (!isObject(body)) throw malformedAnswer();
  const { content } = objectOf(objectOf(body['output'])['message']);
  if (!Array.isArray(content)) throw errorOf(body);
  const parts = content.flatMap((block: unknown) => partOf(objectOf(block)) ?? []);
  return [
    { type: 'response-start', id: null, model: null },
    ...parts.flatMap((part, index) => [...eventsOfPart(part, `${part.type}-${index}`)]),
    { type: 'usage', usage: usageOf(objectOf(body['usage'])) },
    finishOf(body, parts.some(isContent)),
  ];
}

export function parseStream(): Stage<ServerSentEvent, StreamEvent> {
  return new ConverseStreamParser();
}

export function parseError(status: number, body: unknown, retryAfterSeconds?: number): UpstreamError {
  const error = objectOf(objectOf(body)['error']);
  return upstreamError(status, [error['type']], readErrorMessage(body, error), retryAfterSeconds);
}

function errorOf(body: JsonObject): Error {
  const error = objectOf(body['error']);
  const message = readErrorMessage(body, error);
  return message === undefined ? malformedAnswer() : upstreamError(null, [error['type']], message);
}

/** @throws ServiceError when the answer failed */
function finishOf(stop: JsonObject, hasContent: boolean): StreamEvent {
  const reported = stringOf(stop['stopReason']);
  checkFinish(reported, hasContent);
  return { type: 'finish', reason: finishReasonOf(reported) ?? 'stop' };
}

/** The part for a block; null for blocks of tools that Bedrock runs itself. */
function partOf(block: JsonObject): AnswerPart | null {
  const { text, toolUse, reasoningContent } = block;
  if (typeof text === 'string') return { type: 'text', text };
  if (isObject(toolUse)) {
    const { toolUseId, name, input } = toolUse;
    return {
      type: 'tool-call',
      callId: stringOf(toolUseId),
      name: stringOf(name),
      arguments: argumentsTextOf(input),
    };
  }
  if (!isObject(reasoningContent)) return null;
  const { reasoningText, redactedContent } = reasoningContent;
  if (!isObject(reasoningText)) {
    return { type: 'reasoning', text: '', signature: stringOf(redactedContent), redacted: true };
  }
  const signature = stringOf(reasoningText['signature']) || undefined;
  return compact({ type: 'reasoning', text: stringOf(reasoningText['text']), signature } as const);
}

function isContent(part: AnswerPart): boolean {
  return part.type === 'tool-call' || (part.type === 'text' && part.text !== '');
}

/** The input does not include cached tokens. */
function usageOf(usage: JsonObject): Usage {
  const input = countOf(usage['inputTokens']);
  const cacheRead = countOf(usage['cacheReadInputTokens'] ?? usage['cacheReadInputTokenCount']);
  const cacheWrite = countOf(usage['cacheWriteInputTokens'] ?? usage['cacheWriteInputTokenCount']);
  const longLived = listOf(usage['cacheDetails'])
    .map(objectOf)
    .find(({ ttl }) => ttl === '1h');
  return {
    ...UNREPORTED_USAGE,
    inputTotal: input === null ? null : input + (cacheRead ?? 0) + (cacheWrite ?? 0),
    cacheRead,
    cacheWrite,
    cacheWrite1h: countOf(longLived?.['inputTokens']),
    outputTotal: countOf(usage['outputTokens']),
  };
}

type Kind = AnswerPart['type'];

interface Block {
  readonly id: string;
  readonly type: Kind;
  signature: string;
  isRedacted: boolean;
}

class ConverseStreamParser implements Stage<ServerSentEvent, StreamEvent> {
  readonly #blocks = new Map<number, Block>();
  #blockCount = 0;
  #hasContent = false;

  push(event: ServerSentEvent, emit: Emit<StreamEvent>): void {
    const data = parseEventData(event);
    switch (event.event) {
      case 'error':
        throw errorOf(data);
      case 'messageStart':
        return emit({ type: 'response-start', id: null, model: null });
      case 'contentBlockStart':
        return this.#startCall(indexOf(data), objectOf(objectOf(data['start'])['toolUse']), emit);
      case 'contentBlockDelta':
        return this.#takeDelta(indexOf(data), objectOf(data['delta']), emit);
      case 'contentBlockStop':
        return this.#endBlock(indexOf(data), emit);
      case 'messageStop':
        this.#endAll(emit);
        return emit(finishOf(data, this.#hasContent));
      case 'metadata':
        if (isObject(data['usage'])) emit({ type: 'usage', usage: usageOf(data['usage']) });
    }
  }

  end(emit: Emit<StreamEvent>): void {
    this.#endAll(emit);
  }

  #startCall(index: number, { toolUseId, name }: JsonObject, emit: Emit<StreamEvent>): void {
    if (stringOf(name) === '') return;
    this.#hasContent = true;
    const { id } = this.#open(index, 'tool-call', emit);
    emit({ type: 'tool-input-start', id, callId: stringOf(toolUseId), name: stringOf(name) });
  }

  #takeDelta(index: number, { text, toolUse, reasoningContent }: JsonObject, emit: Emit<StreamEvent>): void {
    if (typeof text === 'string') {
      this.#hasContent ||= text !== '';
      emit({ type: 'text-delta', id: this.#blockFor(index, 'text', emit).id, text });
    } else if (isObject(toolUse)) {
      const block = this.#blocks.get(index);
      const input = stringOf(toolUse['input']);
      if (block?.type === 'tool-call' && input !== '') emit({ type: 'tool-input-delta', id: block.id, text: input });
    } else if (isObject(reasoningContent)) {
      const block = this.#blockFor(index, 'reasoning', emit);
      const { text: thought, signature, redactedContent } = reasoningContent;
      block.isRedacted ||= typeof redactedContent === 'string';
      block.signature += stringOf(signature) + stringOf(redactedContent);
      if (typeof thought === 'string') emit({ type: 'reasoning-delta', id: block.id, text: thought });
    }
  }

  /** The open block of a kind. Bedrock announces only calls; deltas start other blocks. */
  #blockFor(index: number, type: 'text' | 'reasoning', emit: Emit<StreamEvent>): Block {
    const open = this.#blocks.get(index);
    if (open?.type === type) return open;
    const block = this.#open(index, type, emit);
    emit({ type: `${type}-start`, id: block.id });
    return block;
  }

  #open(index: number, type: Kind, emit: Emit<StreamEvent>): Block {
    this.#endBlock(index, emit);
    const block = { id: `${type}-${this.#blockCount}`, type, signature: '', isRedacted: false };
    this.#blockCount += 1;
    this.#blocks.set(index, block);
    return block;
  }

  #endBlock(index: number, emit: Emit<StreamEvent>): void {
    const block = this.#blocks.get(index);
    if (block === undefined) return;
    this.#blocks.delete(index);
    const { id, type, signature, isRedacted } = block;
    if (type === 'text') return emit({ type: 'text-end', id });
    if (type === 'tool-call') return emit({ type: 'tool-input-end', id });
    const end = { signature: signature || undefined, redacted: isRedacted || undefined };
    emit(compact({ type: 'reasoning-end', id, ...end } as const));
  }

  #endAll(emit: Emit<StreamEvent>): void {
    for (const index of this.#blocks.keys()) this.#endBlock(index, emit);
  }
}

function indexOf(data: JsonObject): number {
  return countOf(data['contentBlockIndex']) ?? 0;
}
