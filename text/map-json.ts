/** Changes deep inside a body. Unchanged parts stay the same objects. */
import { isObject, type JsonObject } from '../domain/json.ts';

/** Maps the objects of a list, each to an object or several, and omits those that become null. */
export function mapItems(
  holder: JsonObject,
  field: string,
  map: (item: JsonObject) => JsonObject | readonly JsonObject[] | null,
): JsonObject {
  const { [field]: list } = holder;
  if (!Array.isArray(list)) return holder;
  let isChanged = false;
  const mapped = list.flatMap((item: unknown): readonly unknown[] => {
    if (!isObject(item)) return [item];
    const result = map(item);
    isChanged ||= result !== item;
    return result === null ? [] : [result].flat();
  });
  return isChanged ? { ...holder, [field]: mapped } : holder;
}

/** The object with the object in a field mapped. */
export function mapField(holder: JsonObject, field: string, map: (value: JsonObject) => JsonObject): JsonObject {
  const { [field]: value } = holder;
  if (!isObject(value)) return holder;
  const mapped = map(value);
  return mapped === value ? holder : { ...holder, [field]: mapped };
}
