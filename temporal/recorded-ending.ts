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

/** @returns null for a history in which the task was neither charged nor refunded */
export function readRecordedEnding(history: History): RecordedEnding | null {
  const events = history.events ?? [];
  for (const completed of events) {
    const attributes = completed.activityTaskCompletedEventAttributes;
    if (!attributes) continue;
    const scheduled = events.find(({ eventId }) => String(eventId) === String(attributes.scheduledEventId));
    const ending = scheduled && endingOf(scheduled);
    const [result] = attributes.result?.payloads ?? [];
    if (!ending || !result) continue;
    const { taskStatus, transferId, deliveryIds } = defaultPayloadConverter.fromPayload<Resolution>(result);
    // The task had already been ended in another way.
    if (taskStatus !== ending.status) continue;
    return { ending, resolutionId: transferId, deliveryIds };
  }
  return null;
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
