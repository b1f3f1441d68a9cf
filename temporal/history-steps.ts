/** Describes a workflow's history in sentences for operators. */
import type { History } from '@temporalio/common/lib/proto-utils.js';
import { defaultPayloadConverter } from '@temporalio/common';

export interface HistoryStep {
  readonly at: Date;
  readonly text: string;
}

export type HistoryEvent = NonNullable<History['events']>[number];
type Timestamp = HistoryEvent['eventTime'];
export type Payload = Parameters<typeof defaultPayloadConverter.fromPayload>[0];
/** A failure and its cause, as stored in histories. */
export interface RecordedFailure {
  readonly message?: string | null;
  readonly applicationFailureInfo?: { readonly type?: string | null } | null;
  readonly cause?: RecordedFailure | null;
}

/** An activity that has not finished. */
export interface PendingActivity {
  readonly activityId?: string | null;
  readonly attempt?: number | null;
  readonly lastHeartbeatTime?: Timestamp;
  readonly heartbeatDetails?: { readonly payloads?: Payload[] | null } | null;
  readonly lastFailure?: RecordedFailure | null;
}

/** The steps of a history, in order, without the events that are Temporal's own bookkeeping. */
export function readHistorySteps(history: History): readonly HistoryStep[] {
  const events = history.events ?? [];
  const byId = new Map(events.map((event) => [String(event.eventId), event]));
  return events.flatMap((event) => {
    const text = describeEvent(event, byId);
    return text === null ? [] : [{ at: toDate(event.eventTime), text }];
  });
}

/** The state of an activity that has not finished. */
export function describePending(history: History, pending: PendingActivity): string {
  const scheduled = (history.events ?? []).find(
    (event) => event.activityTaskScheduledEventAttributes?.activityId === pending.activityId,
  );
  const progress = (pending.heartbeatDetails?.payloads ?? [])
    .map((payload) => JSON.stringify(decode(payload)))
    .join(', ');
  return [
    `${scheduled ? summaryOf(scheduled) : 'A step'}: in progress, attempt ${pending.attempt ?? 1}`,
    ...(pending.lastFailure ? [describePrevious(pending.lastFailure)] : []),
    ...(progress ? [`heartbeat of ${toDate(pending.lastHeartbeatTime).toISOString()}: ${progress}`] : []),
  ].join('; ');
}

function describeEvent(event: HistoryEvent, byId: ReadonlyMap<string, HistoryEvent>): string | null {
  const ended = activityEnd(event);
  if (ended) {
    const { scheduledEventId, startedEventId, how } = ended;
    const { attempt, lastFailure } = byId.get(String(startedEventId))?.activityTaskStartedEventAttributes ?? {};
    return [
      `${summaryOf(byId.get(String(scheduledEventId)))}${(attempt ?? 1) > 1 ? ` (attempt ${attempt})` : ''}: ${how}`,
      ...(lastFailure ? [describePrevious(lastFailure)] : []),
    ].join('; ');
  }
  if (event.workflowExecutionStartedEventAttributes) return `The workflow started: ${summaryOf(event)}`;
  const { markerRecordedEventAttributes: local } = event;
  if (local) return `${summaryOf(event)}: ${local.failure ? `failed: ${describeFailure(local.failure)}` : 'done'}`;
  if (event.startChildWorkflowExecutionInitiatedEventAttributes) {
    return `${summaryOf(event)}: ${event.startChildWorkflowExecutionInitiatedEventAttributes.workflowId}`;
  }
  if (event.workflowExecutionSignaledEventAttributes) {
    return `The signal ${event.workflowExecutionSignaledEventAttributes.signalName} arrived`;
  }
  if (event.workflowExecutionCancelRequestedEventAttributes) return 'Cancellation was requested';
  if (event.workflowExecutionUpdateAcceptedEventAttributes) return 'The customer asked to cancel the task';
  const { workflowExecutionUpdateCompletedEventAttributes: updated } = event;
  if (updated) return `The customer was answered: ${decodeAll(updated.outcome?.success)}`;
  return workflowEnd(event);
}

function workflowEnd(event: HistoryEvent): string | null {
  const { workflowExecutionFailedEventAttributes: failed, workflowExecutionTerminatedEventAttributes: terminated } =
    event;
  if (event.workflowExecutionCompletedEventAttributes) return 'The workflow ended';
  if (failed) return `The workflow failed, which is a bug: ${describeFailure(failed.failure)}`;
  if (terminated)
    return `The workflow was terminated by ${terminated.identity}: ${terminated.reason || 'no reason given'}`;
  if (event.workflowExecutionTimedOutEventAttributes) return 'The workflow timed out';
  return null;
}

function activityEnd(event: HistoryEvent) {
  const completed = event.activityTaskCompletedEventAttributes;
  if (completed) return { ...completed, how: 'done' };
  const failed = event.activityTaskFailedEventAttributes;
  if (failed) return { ...failed, how: `failed: ${describeFailure(failed.failure)}` };
  const timedOut = event.activityTaskTimedOutEventAttributes;
  if (timedOut) return { ...timedOut, how: `timed out: ${describeFailure(timedOut.failure)}` };
  const cancelled = event.activityTaskCanceledEventAttributes;
  return cancelled ? { ...cancelled, how: 'cancelled' } : null;
}

function describePrevious(failure: RecordedFailure): string {
  return `the previous attempt failed: ${describeFailure(failure)}`;
}

function describeFailure(failure: RecordedFailure | null | undefined): string {
  if (!failure) return 'for a reason that was not recorded';
  const type = failure.applicationFailureInfo?.type;
  const own = `${type ? `${type}: ` : ''}${failure.message ?? ''}`;
  return failure.cause ? `${own} (${describeFailure(failure.cause)})` : own;
}

/** The summary that the workflow gave the step for operators. */
function summaryOf(event: HistoryEvent | undefined): string {
  const summary = event?.userMetadata?.summary;
  if (summary) return String(decode(summary));
  return event?.activityTaskScheduledEventAttributes?.activityType?.name ?? 'A step';
}

function decodeAll(payloads: { readonly payloads?: Payload[] | null } | null | undefined): string {
  return (payloads?.payloads ?? []).map((payload) => JSON.stringify(decode(payload))).join(', ');
}

function decode(payload: Payload): unknown {
  try {
    return defaultPayloadConverter.fromPayload(payload);
  } catch {
    return '(unreadable)';
  }
}

function toDate(time: Timestamp): Date {
  return new Date(Number(time?.seconds ?? 0) * 1000 + Math.floor((time?.nanos ?? 0) / 1e6));
}
