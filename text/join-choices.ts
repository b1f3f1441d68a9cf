/**
 * Joins the answers to several calls of an upstream that gives one answer to each call, for a request that asks for
 * several.
 */
import { addCounts, usageOf } from '../domain/text-tokens.ts';
import { UNREPORTED_USAGE, type Finish, type StreamEvent, type Usage } from './canonical.ts';
import { newCallId } from './call-ids.ts';
import type { Stage } from './stage.ts';

type PartEvent = Exclude<StreamEvent, { type: 'response-start' | 'usage' | 'finish' }>;

/** Several calls of a request whose answers become one. */
export abstract class JoinedCalls {
  /** The events of whole answers so far. */
  protected readonly events: StreamEvent[] = [];
  protected lastStage: Stage<StreamEvent, string> | null = null;

  /** Whether the joined answer has come to its end. */
  abstract readonly isComplete: boolean;

  /** The stage that sees the answer of a call before the client's wishes about reasoning apply. */
  record?(): Stage<StreamEvent, StreamEvent>;
  /** The stage that takes the legal events of the answer to a call, and emits its part of the joined answer. */
  abstract stage(call: number): Stage<StreamEvent, StreamEvent>;

  /** Adds what {@link stage} emitted for a whole answer. @returns the events of the joined answer; null before its end */
  add(events: readonly StreamEvent[]): readonly StreamEvent[] | null {
    for (const event of events) this.events.push(event);
    return this.isComplete ? this.events : null;
  }

  /** The last stage of a stream, which all calls share: it ends with the one that ends last. */
  last(create: () => Stage<StreamEvent, string>): Stage<StreamEvent, string> {
    const last = (this.lastStage ??= create());
    return {
      push: (event, emit) => last.push(event, emit),
      end: (emit) => {
        if (this.isComplete) last.end(emit);
      },
    };
  }
}

/** One of the calls of a request: its answer becomes the choice of that number, or a round of the answer. */
export interface JoinedChoice {
  readonly calls: JoinedCalls;
  readonly choice: number;
}

/** One request's calls. The first starts before the others, which may run at the same time. */
export class JoinedChoices extends JoinedCalls {
  readonly count: number;
  /** How the answers ended so far, by choice. */
  readonly #ends = new Map<number, { readonly finish: Finish; readonly usage: Usage }>();
  readonly #callIds = new Set<string>();
  #attempts = 0;

  /** @param count how many calls there are */
  constructor(count: number) {
    super();
    this.count = count;
  }

  get isComplete(): boolean {
    return this.#ends.size === this.count;
  }

  /**
   * The stage that takes the legal events of an answer, and emits its part of the joined answer: the usage, which is the
   * sum, and the finishes come with the answer that ends last. A call that fails before its answer starts may be repeated,
   * with a new stage.
   */
  stage(choice: number): Stage<StreamEvent, StreamEvent> {
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
        this.#ends.set(choice, { finish, usage });
        if (!this.isComplete) return;
        const ends = [...this.#ends].toSorted(([one], [other]) => one - other);
        emit({ type: 'usage', usage: ends.map(([, end]) => end.usage).reduce(addUsage) });
        for (const [index, end] of ends) emit({ type: 'finish', choice: index, ...end.finish });
      },
    };
  }

  /** The event with its choice. Ids are unique within an answer only: two answers may have the same ids. */
  #placed(event: PartEvent, choice: number, prefix: string): StreamEvent {
    if (event.type === 'audio-delta' || event.type === 'image' || event.type === 'logprobs')
      return { ...event, choice };
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

export function addUsage(one: Usage, other: Usage): Usage {
  return usageOf((name) => addCounts(one[name], other[name]));
}
