/**
 * The items of a response that occurred in its stream. Events refer to them by index, by id or not at all. Some
 * upstreams give an item another id in each event, or leave items of the stream out of the finished response.
 */
import { countOf, type JsonObject, listOf, objectOf, stringOf } from '../../domain/json.ts';

export interface ItemState {
  /** Unique among all items. */
  readonly number: number;
  readonly type: string;
  readonly id: string;
  readonly callId: string;
  /** The text so far. */
  text: string;
  /** The arguments with which a call was announced. */
  input: string;
  /** Whether a tool call was announced. */
  started: boolean;
  hasContent: boolean;
  ended: boolean;
}

export class StreamedItems {
  readonly all: ItemState[] = [];
  /** The latest item of a type at an index or, where events have no index, anywhere. */
  readonly #byPlace = new Map<string, ItemState>();
  readonly #byId = new Map<string, ItemState>();

  /** The item that an event announces: a new one, unless it has occurred before and is not finished. */
  begin(event: JsonObject): ItemState {
    const item = objectOf(event['item']);
    const known = this.#find(event, stringOf(item['type']));
    const isNext = countOf(event['output_index']) === null && known?.hasContent === true;
    return known === undefined || known.ended || isNext || isAnother(known, item) ? this.#add(item, event) : known;
  }

  /** The item of that type of which an event has a piece. */
  of(event: JsonObject, type: string): ItemState {
    return this.#find(event, type) ?? this.#add({ type, id: event['item_id'] }, event);
  }

  /** The item that an event ends. */
  ended(event: JsonObject): ItemState {
    const item = objectOf(event['item']);
    const known = this.#find(event, stringOf(item['type']));
    if (known === undefined || isAnother(known, item)) return this.#add(item, event);
    const isSame = countOf(event['output_index']) !== null || !known.ended || textKeyOf(known) === textKeyOf(item);
    return isSame ? known : this.#add(item, event);
  }

  /**
   * Pairs the items of a finished response with those of the stream: by id, or else by content, by position, or by
   * order within their type. An item that the stream did not have becomes a new one.
   */
  match(items: readonly JsonObject[]): (readonly [ItemState, JsonObject])[] {
    const pairs = new Map<JsonObject, ItemState>();
    const free = new Set(this.all);
    const pair = (item: JsonObject, state: ItemState | undefined): void => {
      if (pairs.has(item) || state === undefined || !free.delete(state)) return;
      pairs.set(item, state);
    };
    for (const keyOf of [idKeyOf, callKeyOf, textKeyOf]) {
      const states = groupBy([...free], keyOf);
      for (const item of items) {
        const key = keyOf(item);
        if (key !== null && !pairs.has(item)) pair(item, states.get(key)?.pop());
      }
    }
    for (const [index, item] of items.entries()) pair(item, this.#byPlace.get(placeOf(index, stringOf(item['type']))));
    const rest = groupBy([...free], (state) => state.type);
    for (const item of items) if (!pairs.has(item)) pair(item, rest.get(stringOf(item['type']))?.pop());
    return items.map((item) => [pairs.get(item) ?? this.#add(item, {}), item]);
  }

  #find(event: JsonObject, type: string): ItemState | undefined {
    const index = countOf(event['output_index']);
    const id = stringOf(event['item_id']) || stringOf(objectOf(event['item'])['id']);
    const named = index === null ? this.#byId.get(`${type} ${id}`) : undefined;
    return named ?? this.#byPlace.get(placeOf(index, type));
  }

  #add(item: JsonObject, event: JsonObject): ItemState {
    const [type, id, callId] = [stringOf(item['type']), stringOf(item['id']), stringOf(item['call_id'])];
    const state = { type, id, callId, text: '', input: '', started: false, hasContent: false, ended: false };
    const added = { ...state, number: this.all.length };
    this.all.push(added);
    this.#byPlace.set(placeOf(countOf(event['output_index']), type), added);
    if (id !== '') this.#byId.set(`${type} ${id}`, added);
    return added;
  }
}

function placeOf(index: number | null, type: string): string {
  return `${type} ${index ?? ''}`;
}

/** Whether a call cannot be the one that is known, as far as its id shows. */
function isAnother(state: ItemState, item: JsonObject): boolean {
  const callId = stringOf(item['call_id']);
  return callId !== '' && state.callId !== '' && callId !== state.callId;
}

type Keyed = ItemState | JsonObject;

function idKeyOf(item: Keyed): string | null {
  const id = stringOf(item.id);
  return id === '' ? null : `${stringOf(item.type)} ${id}`;
}

function callKeyOf(item: Keyed): string | null {
  return stringOf('callId' in item ? item.callId : item['call_id']) || null;
}

function textKeyOf(item: Keyed): string | null {
  const text = 'hasContent' in item ? stringOf(item.text) : textOfItem(item);
  return text === '' ? null : `${stringOf(item.type)} ${text}`;
}

/** The states by key; those with the same key from last to first. */
function groupBy(states: readonly ItemState[], keyOf: (state: ItemState) => string | null): Map<string, ItemState[]> {
  const groups = new Map<string, ItemState[]>();
  for (const state of states.toReversed()) {
    const key = keyOf(state);
    if (key === null) continue;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [state]);
    else group.push(state);
  }
  return groups;
}

/** The content of an item: the text of a message, the paragraphs of reasoning, the arguments of a call. */
export function textOfItem(item: JsonObject): string {
  const content = listOf(item['content']).map(objectOf);
  if (item['type'] === 'message') {
    return content.map((part) => stringOf(part['text']) || stringOf(part['refusal'])).join('');
  }
  if (item['type'] === 'function_call') return stringOf(item['arguments']);
  return [...listOf(item['summary']).map(objectOf), ...content].map((part) => stringOf(part['text'])).join('\n\n');
}
