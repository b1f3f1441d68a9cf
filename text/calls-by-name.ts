import { callIdOfPlace } from './call-ids.ts';

interface Call {
  readonly callId: string;
  answered: boolean;
}

/**
 * The tool calls of a conversation in a format that pairs a call with its result by the tool's name. Few of its clients
 * send ids, so a call without one gets an id derived from its position, which is always the same.
 */
export class CallsByName {
  readonly #byId = new Map<string, Call>();
  readonly #byName = new Map<string, { readonly calls: Call[]; next: number }>();
  /** How many calls there were so far. */
  count = 0;

  /** Adds a call, which then waits for its response. @returns its id */
  add(id: string | undefined, name: string): string {
    const call = { callId: id || callIdOfPlace(this.count), answered: false };
    this.count += 1;
    this.#byId.set(call.callId, call);
    const namesakes = this.#byName.get(name);
    if (namesakes === undefined) this.#byName.set(name, { calls: [call], next: 0 });
    else namesakes.calls.push(call);
    return call.callId;
  }

  /** The id of the first waiting call that a response matches, by id or else by name; null when there is none. */
  answer(id: string | undefined, name: string): string | null {
    const named = id === undefined ? undefined : this.#byId.get(id);
    const call = named?.answered === false ? named : this.#nextOf(name);
    if (call === undefined) return null;
    call.answered = true;
    return call.callId;
  }

  #nextOf(name: string): Call | undefined {
    const namesakes = this.#byName.get(name);
    if (namesakes === undefined) return undefined;
    while (namesakes.calls[namesakes.next]?.answered === true) namesakes.next += 1;
    return namesakes.calls[namesakes.next];
  }
}
