/** Canonical events as the events of a native stream: contract 4.8.4. */
import {
  type FoundOnWeb,
  UNREPORTED_USAGE,
  type StreamEvent,
  type TextRequest,
  type ToolCallPart,
  type Usage,
} from '../canonical.ts';
import { jsonTextOf } from '../json/write.ts';
import { encodeEvent } from '../sse.ts';
import type { Emit, Stage } from '../stage.ts';
import type { RenderContext } from '../wire-format.ts';
import {
  EMPTY_PART,
  FINISH_REASONS,
  groundingOf,
  hasThoughts,
  renderAudio,
  renderImage,
  renderCall,
  renderUsage,
} from './render-result.ts';

export function renderStream(context: RenderContext): Stage<StreamEvent, string> {
  return new NativeStreamRenderer(context);
}

/**
 * JSON without the characters that some clients mistake for line breaks, although they are not in server-sent events:
 * the vendor's Python SDK cuts there.
 */
function toJson(value: unknown): string {
  return jsonTextOf(value).replace(
    /[\u0085\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

class NativeStreamRenderer implements Stage<StreamEvent, string> {
  /** The JSON at the end of every event, made once: it is most of the bytes of a stream. */
  readonly #tail: string;
  readonly #choiceOfPart = new Map<string, number>();
  /** The format sends calls whole, so this holds a started call until its arguments are complete. */
  readonly #openCalls = new Map<string, ToolCallPart>();
  /** Calls whose arguments are not an object. Whether that is a failure depends on how the answer ends. */
  readonly #brokenCalls = new Map<number, ToolCallPart>();
  #usage: Usage = UNREPORTED_USAGE;
  readonly #withThoughts: boolean;
  readonly #searches: FoundOnWeb[] = [];

  readonly #request: TextRequest;

  constructor({ request, responseId }: RenderContext) {
    this.#request = request;
    this.#withThoughts = hasThoughts(request);
    this.#tail = `,${JSON.stringify({ modelVersion: request.model, responseId }).slice(1)}`;
  }

  push(event: StreamEvent, emit: Emit<string>): void {
    switch (event.type) {
      case 'text-start':
      case 'reasoning-start':
        this.#choiceOfPart.set(event.id, event.choice ?? 0);
        return;
      case 'text-delta':
        return this.#emitPart(event.id, `{"text":${toJson(event.text)}}`, emit);
      case 'reasoning-delta':
        if (this.#withThoughts) this.#emitPart(event.id, `{"text":${toJson(event.text)},"thought":true}`, emit);
        return;
      case 'tool-input-start': {
        const { callId, name, signature } = event;
        this.#choiceOfPart.set(event.id, event.choice ?? 0);
        this.#openCalls.set(event.id, { type: 'tool-call', callId, name, signature, arguments: '' });
        return;
      }
      case 'tool-input-delta': {
        const call = this.#openCalls.get(event.id);
        if (call !== undefined) this.#openCalls.set(event.id, { ...call, arguments: call.arguments + event.text });
        return;
      }
      case 'tool-input-end':
        return this.#endCall(event.id, emit);
      case 'audio-delta':
        for (const part of renderAudio(event.audio, this.#request)) {
          this.#emitPartOf(event.choice ?? 0, toJson(part), emit);
        }
        return;
      case 'image':
        return this.#emitPartOf(event.choice ?? 0, toJson(renderImage(event.image)), emit);
      case 'web-search-start':
        return;
      case 'web-search-end':
        this.#searches.push(event);
        return;
      case 'usage':
        this.#usage = event.usage;
        return;
      case 'finish':
        return this.#finish(event, emit);
    }
  }

  end(): void {}

  #endCall(id: string, emit: Emit<string>): void {
    const call = this.#openCalls.get(id);
    if (call === undefined) return;
    this.#openCalls.delete(id);
    const [part] = renderCall(call, 'length');
    if (part === undefined) this.#brokenCalls.set(this.#choiceOfPart.get(id) ?? 0, call);
    else this.#emitPart(id, toJson(part), emit);
  }

  #finish(event: Extract<StreamEvent, { type: 'finish' }>, emit: Emit<string>): void {
    const choice = event.choice ?? 0;
    const broken = this.#brokenCalls.get(choice);
    if (broken !== undefined) renderCall(broken, event.reason);
    const candidate = {
      content: { role: 'model', parts: [EMPTY_PART] },
      finishReason: FINISH_REASONS[event.reason],
      index: choice,
      ...groundingOf(choice === 0 ? this.#searches : []),
    };
    const usage = JSON.stringify(renderUsage(this.#usage));
    emit(encodeEvent(`{"candidates":[${JSON.stringify(candidate)}],"usageMetadata":${usage}${this.#tail}`));
  }

  #emitPart(partId: string, part: string, emit: Emit<string>): void {
    this.#emitPartOf(this.#choiceOfPart.get(partId) ?? 0, part, emit);
  }

  #emitPartOf(index: number, part: string, emit: Emit<string>): void {
    const candidate = `{"content":{"role":"model","parts":[${part}]},"index":${index}}`;
    emit(encodeEvent(`{"candidates":[${candidate}]${this.#tail}`));
  }
}
