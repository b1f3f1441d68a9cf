import type { JsonObject } from '../domain/json.ts';
import type { ServerSentEvent } from './sse.ts';
import { objectOf } from './upstream-errors.ts';

/**
 * An event with its object repaired; the same event when there is nothing to repair.
 *
 * @param trait matches the data of every event that needs repair; all others are not parsed
 * @param repair returns the same object when there is nothing to repair
 */
export function repairEvent(
  event: ServerSentEvent,
  trait: RegExp,
  repair: (object: JsonObject) => JsonObject,
): ServerSentEvent {
  const { data, json } = event;
  if (json === undefined && !trait.test(data)) return event;
  const object = objectOf(json ?? JSON.parse(data));
  const repaired = repair(object);
  return repaired === object ? event : { event: event.event, data: JSON.stringify(repaired) };
}
