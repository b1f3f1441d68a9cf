/** Folds canonical events into a complete answer, and unfolds it again. */
import {
  UNREPORTED_USAGE,
  mergeUsage,
  type AnswerImage,
  type AnswerPart,
  type AnswerSearch,
  type AudioPart,
  type Choice,
  type EndEvent,
  type Finish,
  type StartEvent,
  type StreamEvent,
  type TextResult,
  type Usage,
} from './canonical.ts';
import { Logprobs } from './logprobs.ts';
import { compact } from './read.ts';

interface OpenPart {
  readonly start: StartEvent;
  readonly choice: number;
  text: string;
}

interface OpenChoice {
  readonly parts: AnswerPart[];
  audio: CollectedAudio | null;
  images?: AnswerImage[];
  logprobs?: Logprobs;
  searches?: AnswerSearch[];
  open: OpenPart | null;
  finish: Finish | null;
}

/** The audio of an answer whose pieces arrive one at a time. */
class CollectedAudio {
  #part: AudioPart = { type: 'audio' };
  #transcript = '';
  /** Base64 up to a padding, which ends what can be decoded at once. Some upstreams cut their Base64 anywhere. */
  readonly #wholes: string[] = [];
  #open: string[] = [];

  add({ data = '', transcript = '', ...names }: Omit<AudioPart, 'type'>): void {
    this.#part = { ...this.#part, ...names };
    this.#transcript += transcript;
    if (data === '') return;
    this.#open.push(data);
    if (data.endsWith('=')) this.#endWhole();
  }

  result(): AudioPart {
    if (this.#open.length > 0) this.#endWhole();
    const [first = ''] = this.#wholes;
    const data =
      this.#wholes.length < 2
        ? first
        : Buffer.concat(this.#wholes.map((base64) => Buffer.from(base64, 'base64'))).toString('base64');
    return { ...this.#part, data, transcript: this.#transcript };
  }

  #endWhole(): void {
    this.#wholes.push(this.#open.join(''));
    this.#open = [];
  }
}

/**
 * Folds a legal sequence of events, one at a time. Any other sequence is a bug in the stage before it, so it throws a
 * plain Error instead of one that a client may read.
 */
class Collector {
  readonly #choices = new Map<number, OpenChoice>();
  readonly #open = new Map<string, OpenPart>();
  #start: { readonly id: string | null; readonly model: string | null } | null = null;
  #usage: Usage = UNREPORTED_USAGE;

  add(event: StreamEvent): void {
    if ((event.type === 'response-start') !== (this.#start === null)) throw illegal(event);
    switch (event.type) {
      case 'response-start':
        this.#start = { id: event.id, model: event.model };
        return;
      case 'usage':
        this.#usage = mergeUsage(this.#usage, event.usage);
        return;
      case 'audio-delta':
        return this.#takeAudio(event);
      case 'image':
        return void (this.#choice(event.choice ?? 0).images ??= []).push(event.image);
      case 'logprobs':
        return (this.#choice(event.choice ?? 0).logprobs ??= new Logprobs()).add(event.logprobs);
      case 'finish':
        return this.#finish(event);
      case 'text-start':
      case 'reasoning-start':
      case 'tool-input-start':
        return this.#startPart(event);
      case 'text-delta':
      case 'reasoning-delta':
      case 'tool-input-delta':
        this.#openPart(event).text += event.text;
        return;
      case 'text-end':
      case 'reasoning-end':
      case 'tool-input-end':
        return this.#endPart(event);
      case 'web-search-start':
        return;
      case 'web-search-end':
        return this.#addSearch(event);
    }
  }

  /** The answer. Call it after the last event was added. */
  result(): TextResult {
    if (this.#start === null || this.#choices.size === 0) throw new Error('the events contain no answer');
    const indexes = [...this.#choices.keys()].sort((left, right) => left - right);
    return { ...this.#start, choices: indexes.map((index) => closed(this.#choice(index))), usage: this.#usage };
  }

  #choice(index: number): OpenChoice {
    let choice = this.#choices.get(index);
    if (choice === undefined) {
      choice = { parts: [], audio: null, open: null, finish: null };
      this.#choices.set(index, choice);
    }
    return choice;
  }

  #startPart(event: StartEvent): void {
    const choice = this.#choice(event.choice ?? 0);
    if (choice.open !== null || choice.finish !== null || this.#open.has(event.id)) throw illegal(event);
    choice.open = { start: event, choice: event.choice ?? 0, text: '' };
    this.#open.set(event.id, choice.open);
  }

  #addSearch({ query, results, error }: Extract<StreamEvent, { type: 'web-search-end' }>): void {
    const choice = this.#choice(0);
    choice.searches ??= [];
    choice.searches.push(compact({ at: choice.parts.length, query, results, error }));
  }

  #openPart(event: EndEvent | Extract<StreamEvent, { text: string }>): OpenPart {
    const part = this.#open.get(event.id);
    if (part === undefined || kindOf(part.start.type) !== kindOf(event.type)) throw illegal(event);
    return part;
  }

  #endPart(event: EndEvent): void {
    const part = this.#openPart(event);
    const choice = this.#choice(part.choice);
    choice.parts.push(partOf(part, event));
    choice.open = null;
    this.#open.delete(event.id);
  }

  #takeAudio({ choice: index = 0, audio }: Extract<StreamEvent, { type: 'audio-delta' }>): void {
    const choice = this.#choice(index);
    (choice.audio ??= new CollectedAudio()).add(audio);
  }

  #finish(event: Extract<StreamEvent, { type: 'finish' }>): void {
    const choice = this.#choice(event.choice ?? 0);
    if (choice.open !== null || choice.finish !== null) throw illegal(event);
    choice.finish = compact({ reason: event.reason, stopSequence: event.stopSequence });
  }
}

/** The kind of part that an event belongs to: its type without the last word. */
function kindOf(type: StreamEvent['type']): string {
  return type.slice(0, type.lastIndexOf('-'));
}

function partOf({ start, text }: OpenPart, end: EndEvent): AnswerPart {
  if (start.type === 'text-start') return { type: 'text', text };
  if (start.type === 'tool-input-start') {
    const { callId, name, signature } = start;
    return compact({ type: 'tool-call', callId, name, arguments: text, signature } as const);
  }
  const { signature, redacted } = end.type === 'reasoning-end' ? end : {};
  return compact({ type: 'reasoning', text, signature, redacted } as const);
}

function closed(choice: OpenChoice): Choice {
  if (choice.finish === null) throw new Error('the events end before the answer does');
  const { parts, images, logprobs, searches, finish } = choice;
  return compact({ parts, audio: choice.audio?.result(), images, logprobs: logprobs?.whole, searches, finish });
}

function illegal(event: StreamEvent): Error {
  return new Error(`a ${event.type} event may not occur here`);
}

/** The answer that legal events describe. */
export function collect(events: Iterable<StreamEvent>): TextResult {
  const collector = new Collector();
  for (const event of events) collector.add(event);
  return collector.result();
}

/** The events of one part, with the given id. Upstream parsers use it for answers that do not stream. */
export function* eventsOfPart(part: AnswerPart, id: string, choice = 0): Generator<StreamEvent, void, undefined> {
  if (part.type === 'text') {
    yield { type: 'text-start', id, choice };
    if (part.text !== '') yield { type: 'text-delta', id, text: part.text };
    yield { type: 'text-end', id };
  } else if (part.type === 'reasoning') {
    yield { type: 'reasoning-start', id, choice };
    if (part.text !== '') yield { type: 'reasoning-delta', id, text: part.text };
    yield { type: 'reasoning-end', id, signature: part.signature, redacted: part.redacted };
  } else {
    const { callId, name, signature } = part;
    yield { type: 'tool-input-start', id, callId, name, signature, choice };
    if (part.arguments !== '') yield { type: 'tool-input-delta', id, text: part.arguments };
    yield { type: 'tool-input-end', id };
  }
}
