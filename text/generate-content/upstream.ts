/** The answers of native upstreams as canonical events. */
import { countOf, isObject, type JsonObject, listOf, objectOf, stringOf } from '../../domain/json.ts';
import { addCounts } from '../../domain/text-tokens.ts';
import { parseEventData } from '../answer-json.ts';
import { newCallId } from '../call-ids.ts';
import { type StreamEvent, UNREPORTED_USAGE, type Usage } from '../canonical.ts';
import { checkFinish, finishReasonOf } from '../finish-reasons.ts';
import type { ServerSentEvent } from '../sse.ts';
import type { Emit, Stage } from '../stage.ts';
import { malformedAnswer, readErrorMessage, type UpstreamError, upstreamError } from '../upstream-errors.ts';
import { settleUsage } from '../usage.ts';
import { PartialArguments } from './partial-arguments.ts';

/**
 * The events of a complete response, which has the shape of one stream event, or of a list of stream events, as
 * upstreams that ignore `alt=sse` send it.
 */
export function parseResult(body: unknown): StreamEvent[] {
  const responses = Array.isArray(body) ? body : [body];
  if (!responses.every(isObject)) throw malformedAnswer();
  const events: StreamEvent[] = [];
  const emit = (event: StreamEvent): void => void events.push(event);
  const parser = new NativeStreamParser();
  parser.takeWhole(responses, emit);
  if (responses.every((response) => listOf(response['candidates']).length === 0)) throw malformedAnswer();
  return events;
}

export function parseStream(): Stage<ServerSentEvent, StreamEvent> {
  return new NativeStreamParser();
}

/** @param body `{error: {code, message, status, details}}`: https://google.aip.dev/193 */
export function parseError(status: number, body: unknown, retryAfterSeconds?: number): UpstreamError {
  // A stream that fails before its first event is answered with a list of one error.
  const error = objectOf(objectOf(listOf(body)[0] ?? body)['error']);
  const reported = readErrorMessage(body, error);
  const details = listOf(error['details']).map(objectOf);
  // A wrong key, which is the gateway's own, is reported as an invalid argument.
  if (details.some((detail) => detail['reason'] === 'API_KEY_INVALID')) return upstreamError(401, [], reported);
  const isTooLong = /exceeds the maximum number of (input )?tokens/i.test(stringOf(error['message']));
  const codes = isTooLong ? ['context_length_exceeded'] : [error['status']];
  return upstreamError(status, codes, reported, retryAfterSeconds ?? retryDelayOf(details));
}

/** The whole seconds of a `RetryInfo`, whose delay is written `34.07s`. */
function retryDelayOf(details: readonly JsonObject[]): number | undefined {
  const delays = details.map((detail) => Number.parseFloat(stringOf(detail['retryDelay'])));
  const seconds = delays.find((delay) => delay >= 0);
  return seconds === undefined ? undefined : Math.ceil(seconds);
}

/** A call whose arguments are not complete. */
interface OpenCall {
  id: string;
  readonly name: string;
  signature: string | undefined;
  readonly arguments: PartialArguments;
}

class NativeStreamParser implements Stage<ServerSentEvent, StreamEvent> {
  /** The reasons as reported. */
  readonly #finishes = new Map<number, string>();
  readonly #choices = new Set<number>();
  readonly #choicesWithContent = new Set<number>();
  readonly #openCalls = new Map<number, OpenCall>();
  /** The searches of each candidate, of which every event may have all so far. */
  readonly #webSearches = new Map<number, number>();
  #started = false;
  #callCount = 0;

  push(event: ServerSentEvent, emit: Emit<StreamEvent>): void {
    const response = parseEventData(event);
    throwIfFailed(response);
    if (event.event === 'error') throw parseError(countOf(response['code']) ?? 500, { error: response });
    this.takeResponse(response, emit);
  }

  /** Emits the finishes at the end, because some upstreams give a reason in every event, and the last one counts. */
  end(emit: Emit<StreamEvent>): void {
    for (const choice of this.#openCalls.keys()) this.#endCall(choice, emit);
    for (const [choice, reported] of this.#finishes) {
      checkFinish(reported, this.#choicesWithContent.has(choice));
      emit({ type: 'finish', choice, reason: finishReasonOf(reported) ?? 'stop' });
    }
  }

  /** Takes a complete answer, which has ended even without a reason. */
  takeWhole(responses: readonly JsonObject[], emit: Emit<StreamEvent>): void {
    for (const response of responses) this.takeResponse(response, emit);
    for (const choice of this.#choices) if (!this.#finishes.has(choice)) this.#finishes.set(choice, '');
    this.end(emit);
  }

  takeResponse(response: JsonObject, emit: Emit<StreamEvent>): void {
    throwIfFailed(response);
    const metadata = response['usageMetadata'];
    const usage = isObject(metadata) ? usageOf(metadata) : null;
    if (!this.#started) {
      this.#started = true;
      const id = stringOf(response['responseId']) || null;
      emit({ type: 'response-start', id, model: stringOf(response['modelVersion']) || null });
      // Formats that start with the usage need the usage of the input.
      if (usage !== null) emit({ type: 'usage', usage });
    }
    for (const [position, item] of listOf(response['candidates']).entries()) {
      this.#takeCandidate(objectOf(item), position, emit);
    }
    // The count includes the parts of this event.
    if (usage !== null) emit({ type: 'usage', usage: this.#withSearches(usage) });
  }

  #takeCandidate(candidate: JsonObject, position: number, emit: Emit<StreamEvent>): void {
    const choice = countOf(candidate['index']) ?? position;
    if (!this.#choices.has(choice)) {
      this.#choices.add(choice);
      emit({ type: 'reasoning-start', id: `reasoning-${choice}`, choice });
      emit({ type: 'text-start', id: `text-${choice}`, choice });
    }
    if (isObject(candidate['groundingMetadata'])) this.#takeSearches(candidate['groundingMetadata'], choice, emit);
    const { parts } = objectOf(candidate['content']);
    for (const part of listOf(parts)) this.#takePart(objectOf(part), choice, emit);
    const reported = stringOf(candidate['finishReason']);
    if (finishReasonOf(reported) === null) return;
    checkFinish(reported, true);
    this.#finishes.set(choice, reported);
  }

  #takeSearches({ webSearchQueries }: JsonObject, choice: number, emit: Emit<StreamEvent>): void {
    const count = listOf(webSearchQueries).length;
    if (count <= (this.#webSearches.get(choice) ?? 0)) return;
    this.#webSearches.set(choice, count);
    emit({ type: 'usage', usage: this.#withSearches(UNREPORTED_USAGE) });
  }

  #withSearches(usage: Usage): Usage {
    if (this.#webSearches.size === 0) return usage;
    return { ...usage, webSearches: [...this.#webSearches.values()].reduce((sum, count) => sum + count) };
  }

  #takePart(part: JsonObject, choice: number, emit: Emit<StreamEvent>): void {
    const signature = stringOf(part['thoughtSignature']) || undefined;
    if (isObject(part['functionCall'])) return this.#takeCall(part['functionCall'], signature, choice, emit);
    if (isObject(part['inlineData'])) {
      // Images of the thinking are drafts, which the last image of the answer replaces.
      return part['thought'] === true ? undefined : this.#takeMedia(part['inlineData'], choice, emit);
    }
    const text = stringOf(part['text']);
    if (part['thought'] !== true) {
      if (text !== '') this.#choicesWithContent.add(choice);
      return emit({ type: 'text-delta', id: `text-${choice}`, text });
    }
    emit({ type: 'reasoning-delta', id: `reasoning-${choice}`, text });
    if (signature !== undefined) emit({ type: 'reasoning-end', id: `reasoning-${choice}`, signature });
  }

  /** Takes audio and images; other media are not requested. */
  #takeMedia({ mimeType, data: bytes }: JsonObject, choice: number, emit: Emit<StreamEvent>): void {
    const [mediaType, data] = [stringOf(mimeType), stringOf(bytes)];
    const [kind] = mediaType.split('/', 1);
    if (data === '' || (kind !== 'audio' && kind !== 'image')) return;
    this.#choicesWithContent.add(choice);
    if (kind === 'audio') emit({ type: 'audio-delta', choice, audio: { mediaType, data } });
    else emit({ type: 'image', choice, image: { kind: 'base64', mediaType, data } });
  }

  /** Most calls arrive as a whole. A call with arguments in pieces announces more pieces, and names the function only once. */
  #takeCall(reported: JsonObject, signature: string | undefined, choice: number, emit: Emit<StreamEvent>): void {
    const id = stringOf(reported['id']);
    const name = stringOf(reported['name']);
    let call = this.#openCalls.get(choice);
    if (
      call !== undefined &&
      ((name !== '' && name !== call.name) || (id !== '' && call.id !== '' && id !== call.id))
    ) {
      this.#endCall(choice, emit);
      call = undefined;
    }
    if (call === undefined) {
      // The end of a call that has already ended.
      if (name === '' && reported['args'] === undefined && reported['partialArgs'] === undefined) return;
      if (name === '') throw malformedAnswer();
      call = { id, name, signature, arguments: new PartialArguments() };
      this.#openCalls.set(choice, call);
    }
    call.id ||= id;
    call.signature ??= signature;
    call.arguments.take(reported);
    if (reported['willContinue'] !== true) this.#endCall(choice, emit);
  }

  /** Most calls have no id. Clients of other formats need one. */
  #endCall(choice: number, emit: Emit<StreamEvent>): void {
    const call = this.#openCalls.get(choice);
    if (call === undefined) return;
    this.#openCalls.delete(choice);
    const { name, signature } = call;
    const id = `tool-${this.#callCount}`;
    this.#callCount += 1;
    this.#choicesWithContent.add(choice);
    emit({ type: 'tool-input-start', id, callId: call.id || newCallId(), name, signature, choice });
    emit({ type: 'tool-input-delta', id, text: call.arguments.text });
    emit({ type: 'tool-input-end', id });
  }
}

/** @throws ServiceError for an error, or for a blocked prompt, which has no candidates */
function throwIfFailed(response: JsonObject): void {
  const { error } = response;
  if (error !== undefined && error !== null) {
    throw parseError(countOf(objectOf(error)['code']) ?? 500, response);
  }
  throwIfBlocked(response);
}

/** @throws ServiceError `content_policy_violation` for a blocked prompt */
export function throwIfBlocked(response: JsonObject): void {
  const blocked = stringOf(objectOf(response['promptFeedback'])['blockReason']);
  if (blocked !== '') throw upstreamError(null, ['content_policy_violation']);
}

/**
 * Usage with thinking included in the output. The total is the sum of the prompt, the results of built-in tools, the
 * thinking and the candidates. Some upstreams count the thinking among the candidates, which the total reveals.
 */
export function usageOf(metadata: JsonObject): Usage {
  const count = (field: string): number | null => countOf(metadata[field]);
  const prompt = count('promptTokenCount');
  const input = prompt === null ? null : prompt + (count('toolUsePromptTokenCount') ?? 0);
  const candidates = count('candidatesTokenCount');
  const reasoning = count('thoughtsTokenCount');
  const total = count('totalTokenCount');
  const both = candidates === null && reasoning === null ? null : (candidates ?? 0) + (reasoning ?? 0);
  const canBeBoth = total === null || total >= (input ?? 0) + (both ?? 0);
  return settleUsage({
    ...UNREPORTED_USAGE,
    input,
    cacheRead: count('cachedContentTokenCount'),
    output: canBeBoth ? both : (candidates ?? reasoning),
    reasoning,
    total,
    audioInput: countAudio(metadata, ['promptTokensDetails', 'toolUsePromptTokensDetails']),
    audioCacheRead: countAudio(metadata, ['cacheTokensDetails']),
    audioOutput: countAudio(metadata, ['candidatesTokensDetails']),
  });
}

/** The audio tokens of lists by modality: https://ai.google.dev/api/generate-content#UsageMetadata */
function countAudio(metadata: JsonObject, lists: readonly string[]): number | null {
  return lists
    .flatMap((list) => listOf(metadata[list]))
    .filter((entry) => objectOf(entry)['modality'] === 'AUDIO')
    .map((entry) => countOf(objectOf(entry)['tokenCount']))
    .reduce(addCounts, null);
}
