/** What an upstream that speaks the native format answers, as canonical events. */
import type { ServiceError } from '../../domain/errors.ts';
import { newCallId } from '../call-ids.ts';
import type { FinishReason, JsonObject, StreamEvent, Usage } from '../canonical.ts';
import { isObject } from '../read.ts';
import type { ServerSentEvent } from '../sse.ts';
import type { Emit, Stage } from '../stage.ts';
import {
  arrayOf,
  countOf,
  malformedAnswer,
  objectOf,
  parseEventData,
  stringOf,
  throwIfModerated,
  upstreamError,
} from '../upstream-errors.ts';
import { settleUsage } from '../usage.ts';
import { packCallId } from './thought-signatures.ts';

/** Reasons that are in neither table mean that the model was done. */
const FINISH_REASONS: Readonly<Record<string, FinishReason>> = {
  MAX_TOKENS: 'length',
};

/** Reasons by which the model says that it failed. */
const FAILURE_REASONS = new Set([
  'MALFORMED_FUNCTION_CALL',
  'MALFORMED_RESPONSE',
  'MISSING_THOUGHT_SIGNATURE',
  'TOO_MANY_TOOL_CALLS',
  'UNEXPECTED_TOOL_CALL',
]);

const UNFINISHED = new Set(['', 'FINISH_REASON_UNSPECIFIED']);

/** Null when the answer goes on. */
export function finishReasonOf(told: string): FinishReason | null {
  return UNFINISHED.has(told) ? null : (FINISH_REASONS[told] ?? 'stop');
}

/** The events of a whole response, which has the shape of one event of a stream. */
export function parseResult(body: unknown): StreamEvent[] {
  if (!isObject(body)) throw malformedAnswer();
  const events: StreamEvent[] = [];
  const emit = (event: StreamEvent): void => void events.push(event);
  const parser = new NativeStreamParser();
  parser.takeResponse(body, emit);
  if (arrayOf(body['candidates']).length === 0) throw malformedAnswer();
  parser.end(emit);
  return events;
}

export function parseStream(): Stage<ServerSentEvent, StreamEvent> {
  return new NativeStreamParser();
}

/** @param body `{error: {code, message, status, details}}`, as of https://google.aip.dev/193 */
export function parseError(status: number, body: unknown, retryAfterSeconds?: number): ServiceError {
  const error = objectOf(objectOf(body)['error']);
  const details = arrayOf(error['details']).map(objectOf);
  // A wrong key of the gateway's own is reported as an invalid argument.
  if (details.some((detail) => detail['reason'] === 'API_KEY_INVALID')) return upstreamError(401, []);
  const isTooLong = /exceeds the maximum number of (input )?tokens/i.test(stringOf(error['message']));
  const codes = isTooLong ? ['context_length_exceeded'] : [error['status']];
  return upstreamError(status, codes, retryAfterSeconds ?? retryDelayOf(details));
}

/** The whole seconds of a `RetryInfo`, whose delay is written `34.07s`. */
function retryDelayOf(details: readonly JsonObject[]): number | undefined {
  const delays = details.map((detail) => Number.parseFloat(stringOf(detail['retryDelay'])));
  const seconds = delays.find((delay) => delay >= 0);
  return seconds === undefined ? undefined : Math.ceil(seconds);
}

class NativeStreamParser implements Stage<ServerSentEvent, StreamEvent> {
  readonly #finishes = new Map<number, FinishReason>();
  readonly #choices = new Set<number>();
  #started = false;
  #callCount = 0;

  push(event: ServerSentEvent, emit: Emit<StreamEvent>): void {
    this.takeResponse(parseEventData(event), emit);
  }

  /** Emits the finishes, which wait for the end because some upstreams give a reason in every event: the last counts. */
  end(emit: Emit<StreamEvent>): void {
    for (const [choice, reason] of this.#finishes) emit({ type: 'finish', choice, reason });
  }

  takeResponse(response: JsonObject, emit: Emit<StreamEvent>): void {
    throwIfFailed(response);
    const metadata = response['usageMetadata'];
    const usage = isObject(metadata) ? usageOf(metadata) : null;
    if (!this.#started) {
      this.#started = true;
      const id = stringOf(response['responseId']) || null;
      emit({ type: 'response-start', id, model: stringOf(response['modelVersion']) || null });
      // The formats that begin with the usage are to know the input's.
      if (usage !== null) emit({ type: 'usage', usage });
    }
    for (const item of arrayOf(response['candidates'])) this.#takeCandidate(objectOf(item), emit);
    // The parts of this event are counted in it.
    if (usage !== null) emit({ type: 'usage', usage });
  }

  #takeCandidate(candidate: JsonObject, emit: Emit<StreamEvent>): void {
    const choice = countOf(candidate['index']) ?? 0;
    if (!this.#choices.has(choice)) {
      this.#choices.add(choice);
      emit({ type: 'reasoning-start', id: `reasoning-${choice}`, choice });
      emit({ type: 'text-start', id: `text-${choice}`, choice });
    }
    const { parts } = objectOf(candidate['content']);
    for (const part of arrayOf(parts)) this.#takePart(objectOf(part), choice, emit);
    const reason = stringOf(candidate['finishReason']);
    if (FAILURE_REASONS.has(reason)) throw upstreamError(null, []);
    throwIfModerated(reason);
    const finish = finishReasonOf(reason);
    if (finish !== null) this.#finishes.set(choice, finish);
  }

  #takePart(part: JsonObject, choice: number, emit: Emit<StreamEvent>): void {
    const signature = stringOf(part['thoughtSignature']) || undefined;
    if (isObject(part['functionCall'])) return this.#takeCall(part['functionCall'], signature, choice, emit);
    const text = stringOf(part['text']);
    if (part['thought'] !== true) return emit({ type: 'text-delta', id: `text-${choice}`, text });
    emit({ type: 'reasoning-delta', id: `reasoning-${choice}`, text });
    if (signature !== undefined) emit({ type: 'reasoning-end', id: `reasoning-${choice}`, signature });
  }

  /** Calls come whole. Most have no id; clients of other formats need one, and keep the signature in it. */
  #takeCall(call: JsonObject, signature: string | undefined, choice: number, emit: Emit<StreamEvent>): void {
    const id = `tool-${this.#callCount}`;
    this.#callCount += 1;
    const callId = packCallId({ id: stringOf(call['id']) || newCallId(), signature });
    emit({ type: 'tool-input-start', id, callId, name: stringOf(call['name']), signature, choice });
    emit({ type: 'tool-input-delta', id, text: JSON.stringify(objectOf(call['args'])) });
    emit({ type: 'tool-input-end', id });
  }
}

/** An error, or a prompt that was blocked, which leaves no candidates. */
function throwIfFailed(response: JsonObject): void {
  const { error } = response;
  if (error !== undefined && error !== null) {
    throw parseError(countOf(objectOf(error)['code']) ?? 500, response);
  }
  const blocked = stringOf(objectOf(response['promptFeedback'])['blockReason']);
  if (blocked !== '') throw upstreamError(null, ['content_policy_violation']);
}

/**
 * Usage with thinking inside the output. The total is the prompt, the results of built-in tools, the thinking and the
 * candidates; some upstreams count the thinking among the candidates, which the total tells.
 */
function usageOf(metadata: JsonObject): Usage {
  const count = (field: string): number | null => countOf(metadata[field]);
  const prompt = count('promptTokenCount');
  const input = prompt === null ? null : prompt + (count('toolUsePromptTokenCount') ?? 0);
  const candidates = count('candidatesTokenCount');
  const reasoning = count('thoughtsTokenCount');
  const total = count('totalTokenCount');
  const both = candidates === null && reasoning === null ? null : (candidates ?? 0) + (reasoning ?? 0);
  const fitsBoth = total === null || total >= (input ?? 0) + (both ?? 0);
  return settleUsage({
    input,
    cacheRead: count('cachedContentTokenCount'),
    cacheWrite: null,
    output: fitsBoth ? both : (candidates ?? reasoning),
    reasoning,
    total,
  });
}
