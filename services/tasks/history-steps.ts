/** Reads the steps of a workflow from its history. */
import type { History } from '@temporalio/common/lib/proto-utils.js';
import { defaultPayloadConverter } from '@temporalio/common';
import { isObject } from '../../domain/json.ts';

/** A step of a workflow. */
export type HistoryStep = { readonly at: Date } & (
  | ActivityStep
  | { readonly kind: 'started'; readonly summary: string }
  | { readonly kind: 'startedChild'; readonly summary: string; readonly workflowId: string }
  | { readonly kind: 'signalled'; readonly signal: string }
  | { readonly kind: 'cancelRequested' | 'customerCancels' | 'ended' | 'timedOut' }
  | { readonly kind: 'customerAnswered'; readonly answer: string }
  | { readonly kind: 'failed'; readonly failure: string | null }
  | { readonly kind: 'terminated'; readonly by: string; readonly reason: string }
);

/** An activity, once it ended or while it runs. */
interface ActivityStep {
  readonly kind: 'activity';
  readonly activity: string;
  /** The summary that the workflow gave the step, or else the name of the activity. */
  readonly summary: string;
  readonly attempt: number;
  readonly outcome: 'done' | 'failed' | 'timedOut' | 'cancelled' | 'running';
  /** Null if the activity did not fail, or if its reason was not recorded. */
  readonly failure: string | null;
  readonly previousFailure: string | null;
  /** The latest heartbeat of a running activity. */
  readonly heartbeat: string | null;
}

type HistoryEvent = NonNullable<History['events']>[number];
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
    const step = readStep(event, byId);
    return step === null ? [] : [step];
  });
}

/** The step of an activity that has not finished. */
export function readPendingStep(history: History, pending: PendingActivity): HistoryStep {
  const scheduled = (history.events ?? []).find(
    (event) => event.activityTaskScheduledEventAttributes?.activityId === pending.activityId,
  );
  const progress = decodeAll(pending.heartbeatDetails);
  return {
    ...activityStep(scheduled),
    at: toDate(pending.lastHeartbeatTime),
    attempt: pending.attempt ?? 1,
    outcome: 'running',
    previousFailure: pending.lastFailure ? describeFailure(pending.lastFailure) : null,
    heartbeat: progress === '' ? null : progress,
  };
}

function activityStep(event: HistoryEvent | undefined) {
  const activity = event?.activityTaskScheduledEventAttributes?.activityType?.name ?? localActivityIn(event);
  const rest = { attempt: 1, failure: null, previousFailure: null, heartbeat: null } as const;
  return { kind: 'activity', activity, summary: summaryOf(event) ?? activity, ...rest } as const;
}

/** The name of a local activity, which its marker records; empty for other events. */
function localActivityIn(event: HistoryEvent | undefined): string {
  const [data] = event?.markerRecordedEventAttributes?.details?.['data']?.payloads ?? [];
  const decoded = data ? decode(data) : null;
  return isObject(decoded) && typeof decoded['activity_type'] === 'string' ? decoded['activity_type'] : '';
}

function readStep(event: HistoryEvent, byId: ReadonlyMap<string, HistoryEvent>): HistoryStep | null {
  const at = toDate(event.eventTime);
  const end = activityEnd(event);
  if (end) {
    const { scheduledEventId, startedEventId, outcome, failure } = end;
    const started = byId.get(String(startedEventId))?.activityTaskStartedEventAttributes;
    return {
      ...activityStep(byId.get(String(scheduledEventId))),
      at,
      attempt: started?.attempt ?? 1,
      outcome,
      failure: failure ? describeFailure(failure) : null,
      previousFailure: started?.lastFailure ? describeFailure(started.lastFailure) : null,
    };
  }
  const summary = summaryOf(event) ?? '';
  const {
    workflowExecutionStartedEventAttributes: started,
    markerRecordedEventAttributes: local,
    startChildWorkflowExecutionInitiatedEventAttributes: child,
    workflowExecutionSignaledEventAttributes: signalled,
    workflowExecutionUpdateCompletedEventAttributes: updated,
  } = event;
  if (started) return { at, kind: 'started', summary };
  if (local) {
    const failure = local.failure ? describeFailure(local.failure) : null;
    return { ...activityStep(event), at, outcome: failure === null ? 'done' : 'failed', failure };
  }
  if (child) return { at, kind: 'startedChild', summary, workflowId: child.workflowId ?? '' };
  if (signalled) return { at, kind: 'signalled', signal: signalled.signalName ?? '' };
  if (event.workflowExecutionCancelRequestedEventAttributes) return { at, kind: 'cancelRequested' };
  if (event.workflowExecutionUpdateAcceptedEventAttributes) return { at, kind: 'customerCancels' };
  if (updated) return { at, kind: 'customerAnswered', answer: decodeAll(updated.outcome?.success) };
  return workflowEnd(event, at);
}

function workflowEnd(event: HistoryEvent, at: Date): HistoryStep | null {
  const { workflowExecutionFailedEventAttributes: failed, workflowExecutionTerminatedEventAttributes: terminated } =
    event;
  if (event.workflowExecutionCompletedEventAttributes) return { at, kind: 'ended' };
  if (failed) return { at, kind: 'failed', failure: failed.failure ? describeFailure(failed.failure) : null };
  if (terminated) return { at, kind: 'terminated', by: terminated.identity ?? '', reason: terminated.reason ?? '' };
  return event.workflowExecutionTimedOutEventAttributes ? { at, kind: 'timedOut' } : null;
}

function activityEnd(event: HistoryEvent) {
  const completed = event.activityTaskCompletedEventAttributes;
  if (completed) return { ...completed, outcome: 'done', failure: null } as const;
  const failed = event.activityTaskFailedEventAttributes;
  if (failed) return { ...failed, outcome: 'failed' } as const;
  const timedOut = event.activityTaskTimedOutEventAttributes;
  if (timedOut) return { ...timedOut, outcome: 'timedOut' } as const;
  const cancelled = event.activityTaskCanceledEventAttributes;
  return cancelled ? ({ ...cancelled, outcome: 'cancelled', failure: null } as const) : null;
}

function describeFailure(failure: RecordedFailure): string {
  const type = failure.applicationFailureInfo?.type;
  const own = `${type ? `${type}: ` : ''}${failure.message ?? ''}`;
  return failure.cause ? `${own} (${describeFailure(failure.cause)})` : own;
}

/** The summary that the workflow gave the step for operators; null if none. */
function summaryOf(event: HistoryEvent | undefined): string | null {
  const summary = event?.userMetadata?.summary;
  return summary ? String(decode(summary)) : null;
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
