/** Bodies of scripts as upstreams should get them, for models with full compatibility: contract 4.8.4. */
import { isObject, type JsonObject } from '../../domain/json.ts';
import { mapField, mapItems } from '../map-json.ts';

/** One object in place of a list, as in examples of the vendor, becomes a list. Any other body is returned as it is. */
export function adoptBody(body: JsonObject): JsonObject {
  const listed = withList(withList(body, 'contents'), 'tools');
  const instructed = ['systemInstruction', 'system_instruction'].reduce(
    (adopted, field) => mapField(adopted, field, adoptContent),
    listed,
  );
  return mapItems(instructed, 'contents', adoptContent);
}

/** An empty role counts as none. */
function adoptContent(content: JsonObject): JsonObject {
  return withList(content['role'] === '' ? withoutRole(content) : content, 'parts');
}

function withoutRole({ role: _role, ...content }: JsonObject): JsonObject {
  return content;
}

function withList(holder: JsonObject, field: string): JsonObject {
  const { [field]: value } = holder;
  return isObject(value) ? { ...holder, [field]: [value] } : holder;
}
