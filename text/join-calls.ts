/**
 * Joins the answers to several calls of an upstream that gives one answer to each call, for a request that asks for
 * several.
 */
import { usageOf } from '../domain/text-tokens.ts';
import { UNREPORTED_USAGE, type Finish, type StreamEvent, type Usage } from './canonical.ts';
import { newCallId } from './call-ids.ts';
import type { Stage } from './stage.ts';

type PartEvent = Exclude<StreamEvent, { type: 'response-start' | 'usage' | 'finish' }>;

/** One request's calls, made one after the other. The answer to each becomes a choice, numbered in their order. */
export class JoinedCalls {
  readonly count: number;
  /** How the answers ended so far. */
  readonly #ends: { readonly finish: Finish; readonly usage: Usage }[] = [];
  readonly #callIds = new Set<string>();
  /** The events of whole answers so far. */
  readonly #events: StreamEvent[] = [];
  #attempts = 0;
  #last: Stage<StreamEvent, string> | null = null;

  /** @param count how many calls there are */
  constructor(count: number) {
    this.count = count;
  }

  /** Whether every answer has come to its end. */
  get isComplete(): boolean {
    return this.#ends.length === this.count;
  }

  /**
   * The stage that takes the legal events of the next answer, and emits its part of the joined answer: the usage, which
   * is the sum, and the finishes come with the last. A call that fails before its answer starts may be repeated, with a
   * new stage.
   */
  stage(): Stage<StreamEvent, StreamEvent> {
    const choice = this.#ends.length;
    const prefix = `${(this.#attempts += 1)}-`;
    let finish: Finish = { reason: 'stop' };
    let usage = UNREPORTED_USAGE;
    return {
      push: (event, emit) => {
        if (event.type === 'usage') usage = event.usage;
        else if (event.type === 'finish') finish = { reason: event.reason, stopSequence: event.stopSequence };
        else if (event.type !== 'response-start') emit(this.#placed(event, choice, prefix));
        else if (choice === 0) emit(event);
      },
      end: (emit) => {
        this.#ends.push({ finish, usage });
        if (!this.isComplete) return;
        emit({ type: 'usage', usage: this.#ends.map((end) => end.usage).reduce(addUsage) });
        for (const [index, end] of this.#ends.entries()) emit({ type: 'finish', choice: index, ...end.finish });
      },
    };
  }

  /** Adds what {@link stage} emitted for a whole answer. @returns the events of the joined answer; null before its end */
  add(events: readonly StreamEvent[]): readonly StreamEvent[] | null {
    for (const event of events) this.#events.push(event);
    return this.isComplete ? this.#events : null;
  }

  /** The last stage of a stream, which all calls share: it ends with the last of them. */
  last(create: () => Stage<StreamEvent, string>): Stage<StreamEvent, string> {
    const last = (this.#last ??= create());
    return {
      push: (event, emit) => last.push(event, emit),
      end: (emit) => {
        if (this.isComplete) last.end(emit);
      },
    };
  }

  /** The event in its choice. Ids are unique within an answer, so those of different answers may be the same. */
  #placed(event: PartEvent, choice: number, prefix: string): StreamEvent {
    const id = prefix + event.id;
    switch (event.type) {
      case 'text-start':
      case 'reasoning-start':
        return { ...event, id, choice };
      case 'tool-input-start': {
        const callId = this.#callIds.has(event.callId) ? newCallId() : event.callId;
        this.#callIds.add(callId);
        return { ...event, id, choice, callId };
      }
      default:
        return { ...event, id };
    }
  }
}

function addUsage(one: Usage, other: Usage): Usage {
  return usageOf((name) => addCounts(one[name], other[name]));
}

/** A count that only one has is the sum. */
function addCounts(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : one + other;
}
