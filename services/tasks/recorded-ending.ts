/** Reads a task's outcome from its workflow's history. A database that was restored to an earlier moment lacks it. */
import type { History } from '@temporalio/common/lib/proto-utils.js';
import { defaultPayloadConverter } from '@temporalio/common';
import type { TaskEnding } from '../../db/queries/finish-task.ts';
import type { Resolution } from '../../workflows/media-task/media-task.ts';
import type { HistoryEvent } from './history-steps.ts';

export interface RecordedEnding {
  readonly ending: TaskEnding;
  /** The id of the settlement or refund, which contains the time at which the task ended. */
  readonly resolutionId: string;
  /** The deliveries that announced it. */
  readonly deliveryIds: readonly string[];
}

/** @returns null for a history in which the task was neither charged nor refunded */
export function readRecordedEnding(history: History): RecordedEnding | null {
  for (const event of history.events ?? []) {
    const resolution = readResolution(event);
    // A task that had already ended in another way keeps that ending.
    if (!resolution || resolution.taskStatus !== resolution.ending.status) continue;
    return { ending: resolution.ending, resolutionId: resolution.transferId, deliveryIds: resolution.deliveryIds };
  }
  return null;
}

/** The result of a step that charged or refunded. The marker of a local activity names it in JSON; a failed one has no result. */
function readResolution({ markerRecordedEventAttributes: marker }: HistoryEvent): Resolution | null {
  const [data] = marker?.details?.['data']?.payloads ?? [];
  const [result] = marker?.details?.['result']?.payloads ?? [];
  if (marker?.markerName !== 'core_local_activity' || !data || !result) return null;
  const name = defaultPayloadConverter.fromPayload<{ readonly activity_type: string }>(data).activity_type;
  return name === 'settle' || name === 'refund' ? defaultPayloadConverter.fromPayload<Resolution>(result) : null;
}
