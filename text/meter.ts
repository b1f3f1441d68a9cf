/**
 * Measures an answer as it passes: what to bill, and how it ended. On the identity path the forwarded bytes are read
 * for it; on the converting path it sits between two stages.
 */
import { UNREPORTED_USAGE, mergeUsage, type StreamEvent, type Usage } from './canonical.ts';
import { isKeepAlive, type ServerSentEvent } from './sse.ts';
import type { Stage } from './stage.ts';
import { TokenCounter } from './token-estimate.ts';

/** The measurements. They can be read at any time, even for an answer that broke off. */
export class Meter {
  usage: Usage = UNREPORTED_USAGE;
  /** Whether a stream has sent anything, even just an announcement. */
  heard = false;
  /** Whether any of the answer itself has arrived. */
  begun = false;
  /** Whether the answer was complete. */
  finished = false;
  /** Text, reasoning and tool arguments so far, for an estimate in case no usage is reported. */
  readonly #output = new TokenCounter();
  /** The part of it that came after the last report of output tokens. */
  #unreportedLength = 0;

  /** Whether output came after the last report of output tokens. */
  get hasUnreportedOutput(): boolean {
    return this.#unreportedLength > 0;
  }

  /** UTF-16 units of output so far. */
  get outputLength(): number {
    return this.#output.length;
  }

  /** Records an event as received. Keep-alives do not count. */
  hear(event: ServerSentEvent): void {
    this.heard ||= !isKeepAlive(event);
  }

  see(event: StreamEvent): void {
    this.begun ||= isOfAnswer(event);
    if (event.type === 'usage') this.#takeUsage(event.usage);
    else if (event.type === 'finish') this.finished = true;
    else if ('text' in event) {
      this.#output.add(event.text);
      this.#unreportedLength += event.text.length;
    }
  }

  /** The estimated tokens of the output that passed. */
  countSeenTokens(): number {
    return this.#output.count();
  }

  /** The output tokens so far: what was reported plus an estimate of what came since, but no less than was seen. */
  countOutputTokens(): number {
    if (this.outputLength === 0) return this.usage.outputTotal ?? 0;
    const seen = this.countSeenTokens();
    const since = (seen * this.#unreportedLength) / this.outputLength;
    return Math.ceil(Math.max(seen, (this.usage.outputTotal ?? 0) + since));
  }

  #takeUsage(usage: Usage): void {
    this.usage = mergeUsage(this.usage, usage);
    if (usage.outputTotal !== null) this.#unreportedLength = 0;
  }

  /** The stage that records events as received. */
  hearingStage(): Stage<ServerSentEvent, ServerSentEvent> {
    return {
      push: (event, emit) => {
        this.hear(event);
        emit(event);
      },
      end() {},
    };
  }

  /** The stage that measures events and lets them through unchanged. */
  stage(): Stage<StreamEvent, StreamEvent> {
    return {
      push: (event, emit) => {
        this.see(event);
        emit(event);
      },
      end() {},
    };
  }
}

/** Upstreams announce an answer before they know whether they can give one. */
const ANNOUNCEMENTS: ReadonlySet<StreamEvent['type']> = new Set([
  'response-start',
  'usage',
  'text-start',
  'reasoning-start',
]);

function isOfAnswer(event: StreamEvent): boolean {
  return 'text' in event ? event.text !== '' : !ANNOUNCEMENTS.has(event.type);
}
