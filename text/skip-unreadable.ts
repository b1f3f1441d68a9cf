/**
 * Skips an event in the middle of a stream that cannot be read, if the next one can: a proxy that garbles one event
 * costs a few words, and breaking off would cost the answer. Before the answer has started another upstream can be tried
 * instead, and two unreadable events in a row, or one at the end, are no accident.
 */
import type { StreamEvent } from './canonical.ts';
import type { Meter } from './meter.ts';
import { DONE, type ServerSentEvent } from './sse.ts';
import type { Emit, Stage } from './stage.ts';
import { UnreadableEventError } from './upstream-errors.ts';

export class ReadableEvents implements Stage<ServerSentEvent, StreamEvent> {
  readonly #parser: Stage<ServerSentEvent, StreamEvent>;
  readonly #meter: Meter;
  #skipped: UnreadableEventError | null = null;

  /** @param parser throws at an unreadable event before it changes its state */
  constructor(parser: Stage<ServerSentEvent, StreamEvent>, meter: Meter) {
    this.#parser = parser;
    this.#meter = meter;
  }

  /** Whether the last event was skipped. */
  get hasSkipped(): boolean {
    return this.#skipped !== null;
  }

  push(event: ServerSentEvent, emit: Emit<StreamEvent>): void {
    if (this.#skipped !== null && event.data === DONE) throw this.#skipped;
    try {
      this.#parser.push(event, emit);
      this.#skipped = null;
    } catch (error) {
      if (!(error instanceof UnreadableEventError) || this.#skipped !== null || !this.#meter.hasStarted) throw error;
      this.#skipped = error;
      this.#meter.unreadableEvents += 1;
    }
  }

  end(emit: Emit<StreamEvent>): void {
    if (this.#skipped !== null) throw this.#skipped;
    this.#parser.end(emit);
  }
}
