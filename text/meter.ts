/**
 * Measures an answer as it passes: what to bill and how it ended. On the identity path what is forwarded
 * is read for it; on the converting path it sits between two stages.
 */
import { UNREPORTED_USAGE, mergeUsage, type StreamEvent, type Usage } from './canonical.ts';
import type { Stage } from './stage.ts';

/** The measurements; read them at any moment, also of an answer that broke off. */
export class Meter {
  usage: Usage = UNREPORTED_USAGE;
  /** UTF-16 units of text, reasoning and tool arguments so far: what an estimate goes by when no usage was reported. */
  outputLength = 0;
  /** As much of it as came after the last report of output tokens. */
  unreportedLength = 0;
  /** Whether the answer came to its end. */
  finished = false;

  see(event: StreamEvent): void {
    if (event.type === 'usage') this.#takeUsage(event.usage);
    else if (event.type === 'finish') this.finished = true;
    else if ('text' in event) {
      this.outputLength += event.text.length;
      this.unreportedLength += event.text.length;
    }
  }

  #takeUsage(usage: Usage): void {
    this.usage = mergeUsage(this.usage, usage);
    if (usage.outputTotal !== null) this.unreportedLength = 0;
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
