/** Bodies of Codex as upstreams should get them, for models with full compatibility: contract 4.8.2. */
import type { JsonObject } from '../../domain/json.ts';
import { mapField } from '../map-json.ts';
import { withKnownEffort } from '../reasoning.ts';

export function adoptBody(body: JsonObject): JsonObject {
  return mapField(body, 'reasoning', (reasoning) => withKnownEffort(reasoning, 'effort'));
}
