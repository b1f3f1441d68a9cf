/** How a task ended by its workflow's history, which a database restored to an earlier moment does not know. */
import type { History } from '@temporalio/common/lib/proto-utils.js';
import { defaultPayloadConverter } from '@temporalio/common';
import type { TaskEnding } from '../db/queries/finish-task.ts';
import { isTaskErrorCode } from '../domain/errors.ts';
import type { GeneratedMedia } from '../domain/task.ts';
import type { Resolution } from '../workflows/media-task.ts';
import type { HistoryEvent, Payload } from './history-steps.ts';

export interface RecordedEnding {
  readonly ending: TaskEnding;
  /** The id of the settlement or refund, which contains the time at which the task ended. */
  readonly resolutionId: string;
  /** The deliveries that announced it. */
  readonly deliveryIds: readonly string[];
}

/** A step that charged or refunded: how it was to end the task, and what came of it. */
interface Recorded {
  readonly ending: TaskEnding;
  readonly resolution: Resolution;
}

/** @returns null for a history in which the task was neither charged nor refunded */
export function readRecordedEnding(history: History): RecordedEnding | null {
  const events = history.events ?? [];
  for (const event of events) {
    const recorded = recordedByMarker(event) ?? recordedByActivity(event, events);
    if (!recorded) continue;
    const { ending, resolution } = recorded;
    // The task had already been ended in another way.
    if (resolution.taskStatus !== ending.status) continue;
    return { ending, resolutionId: resolution.transferId, deliveryIds: resolution.deliveryIds };
  }
  return null;
}

/** The marker of a local activity names it in JSON; one that failed has no result. */
function recordedByMarker({ markerRecordedEventAttributes: marker }: HistoryEvent): Recorded | null {
  const [data] = marker?.details?.['data']?.payloads ?? [];
  const [result] = marker?.details?.['result']?.payloads ?? [];
  if (marker?.markerName !== 'core_local_activity' || !data || !result) return null;
  const name = defaultPayloadConverter.fromPayload<{ readonly activity_type: string }>(data).activity_type;
  if (name !== 'settle' && name !== 'refund') return null;
  const resolution = defaultPayloadConverter.fromPayload<Resolution>(result);
  return { ending: resolution.ending, resolution };
}

function recordedByActivity(
  { activityTaskCompletedEventAttributes: completed }: HistoryEvent,
  events: readonly HistoryEvent[],
): Recorded | null {
  if (!completed) return null;
  const scheduled = events.find(({ eventId }) => String(eventId) === String(completed.scheduledEventId));
  const ending = scheduled && endingOf(scheduled);
  const [result] = completed.result?.payloads ?? [];
  if (!ending || !result) return null;
  return { ending, resolution: defaultPayloadConverter.fromPayload<Resolution>(result) };
}

/** How a step that charges or refunds was to end the task; null for any other step. */
function endingOf({ activityTaskScheduledEventAttributes: step }: HistoryEvent): TaskEnding | null {
  const [, ...facts] = step?.input?.payloads ?? [];
  if (step?.activityType?.name === 'settle') return settlementOf(facts);
  return step?.activityType?.name === 'refund' ? refundOf(facts) : null;
}

function settlementOf([output]: readonly Payload[]): TaskEnding | null {
  if (!output) return null;
  return { status: 'succeeded', output: defaultPayloadConverter.fromPayload<GeneratedMedia[]>(output) };
}

function refundOf([code, message]: readonly Payload[]): TaskEnding | null {
  if (!code || !message) return null;
  const name = defaultPayloadConverter.fromPayload<string>(code);
  if (!isTaskErrorCode(name)) return null;
  return { status: 'failed', failure: { code: name, message: defaultPayloadConverter.fromPayload<string>(message) } };
}
