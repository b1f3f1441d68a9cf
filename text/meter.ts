/**
 * Measures an answer as it passes: what to bill and how it ended. On the identity path what is forwarded
 * is read for it; on the converting path it sits between two stages.
 */
import { UNREPORTED_USAGE, mergeUsage, type StreamEvent, type Usage } from './canonical.ts';
import type { Stage } from './stage.ts';
import { TokenCounter } from './token-estimate.ts';

/** The measurements; read them at any moment, also of an answer that broke off. */
export class Meter {
  usage: Usage = UNREPORTED_USAGE;
  /** Whether the answer came to its end. */
  finished = false;
  /** Text, reasoning and tool arguments so far: what an estimate goes by when no usage was reported. */
  readonly #output = new TokenCounter();
  /** As much of it as came after the last report of output tokens. */
  #unreportedLength = 0;

  /** Whether output came after the last report of output tokens. */
  get hasUnreportedOutput(): boolean {
    return this.#unreportedLength > 0;
  }

  /** UTF-16 units of output so far. */
  get outputLength(): number {
    return this.#output.length;
  }

  see(event: StreamEvent): void {
    if (event.type === 'usage') this.#takeUsage(event.usage);
    else if (event.type === 'finish') this.finished = true;
    else if ('text' in event) {
      this.#output.add(event.text);
      this.#unreportedLength += event.text.length;
    }
  }

  /** An estimate of the output that was seen. */
  countSeenTokens(): number {
    return this.#output.count();
  }

  /** The output tokens so far: what was reported and an estimate of what came since, but not less than was seen. */
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

  /** The stage that lets events through unchanged and measures them. */
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
