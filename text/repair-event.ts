/** Repairs of single events, and of the usage in them. */
import { isObject, type JsonObject, objectOf } from '../domain/json.ts';
import type { Usage } from './canonical.ts';
import type { ServerSentEvent } from './sse.ts';

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

/**
 * An answer, or its last event, that reports the usage that is charged; the same object when it does already. Counts
 * that the upstream left out are added only beside a count that is wrong.
 *
 * @param render writes usage in the answer's format
 */
export function withUsage(
  answer: JsonObject,
  field: 'usage' | 'usageMetadata',
  charged: Usage,
  render: (usage: Usage) => object,
): JsonObject {
  if (charged.inputTotal === null && charged.outputTotal === null) return answer;
  const reported = answer[field];
  const counts = render(charged);
  if (isObject(reported) && !contradicts(reported, counts)) return answer;
  return { ...answer, [field]: mergeCounts(objectOf(reported), counts) };
}

function contradicts(reported: JsonObject, charged: object): boolean {
  return Object.entries(charged).some(([name, count]: [string, unknown]) => {
    const reportedCount = reported[name] ?? null;
    return isObject(count)
      ? isObject(reportedCount) && contradicts(reportedCount, count)
      : reportedCount !== null && reportedCount !== count;
  });
}

function mergeCounts(reported: JsonObject, charged: object): JsonObject {
  const counts = Object.entries(charged).map(([name, count]: [string, unknown]) => [
    name,
    isObject(count) ? mergeCounts(objectOf(reported[name]), count) : count,
  ]);
  return { ...reported, ...Object.fromEntries(counts) };
}
