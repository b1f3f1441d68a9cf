/** Requests that refer to stored responses: contract 4.8.2. */
import { isObject, type JsonObject, listOf } from '../../domain/json.ts';
import { isStorable } from '../../domain/storable-text.ts';
import { itemTypeOf } from './input-items.ts';

/** The stored content of a response: the new input of its request, and the response as the client got it. */
export interface StoredContent {
  readonly input: readonly unknown[];
  readonly response: JsonObject;
}

const MAX_ID_LENGTH = 200;

/** Whether an id can be stored, as all usual ones can. */
export function isStorableId(id: unknown): id is string {
  return typeof id === 'string' && id.length > 0 && id.length <= MAX_ID_LENGTH && isStorable(id);
}

/** The id of the response that a request continues; null for none. */
export function previousResponseIdOf(body: JsonObject): string | null {
  const { previous_response_id: id } = body;
  return typeof id === 'string' ? id : null;
}

/** Whether a request has input in one of its forms. */
export function hasInput({ input }: JsonObject): boolean {
  return typeof input === 'string' || Array.isArray(input);
}

/** The input of a request as items. */
export function inputItemsOf({ input }: JsonObject): readonly unknown[] {
  return typeof input === 'string' ? [{ type: 'message', role: 'user', content: input }] : listOf(input);
}

/** The items of a conversation so far. */
export function itemsOf(contents: readonly StoredContent[]): readonly unknown[] {
  return contents.flatMap(({ input, response }) => [...input, ...listOf(response['output'])]);
}

/** The output items with an id, by their ids. */
export function outputItemsById({ output }: JsonObject): ReadonlyMap<string, JsonObject> {
  const items = listOf(output).filter(isObject);
  return new Map(items.flatMap((item) => (isStorableId(item['id']) ? [[item['id'], item]] : [])));
}

/** The most items that a request may refer to. */
const MAX_REFERENCES = 2_000;

/** The ids of the items to which input items refer. */
export function referencesOf(items: readonly unknown[]): readonly string[] {
  const ids = items.map(referenceOf).filter((id) => id !== null && isStorableId(id));
  return ids.slice(0, MAX_REFERENCES);
}

function referenceOf(item: unknown): string | null {
  if (!isObject(item) || itemTypeOf(item) !== 'item_reference') return null;
  return typeof item['id'] === 'string' ? item['id'] : null;
}

/** The items, with the known ones in the place of references to them. */
export function withoutReferences(
  items: readonly unknown[],
  known: ReadonlyMap<string, JsonObject>,
): readonly unknown[] {
  return items.map((item) => known.get(referenceOf(item) ?? '') ?? item);
}
