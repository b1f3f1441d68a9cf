/** The cost of a workflow to the Temporal server, read from its history. */
import type { Client } from '@temporalio/client';

export interface HistoryCost {
  readonly events: number;
  readonly bytes: number;
  readonly workflow_tasks: number;
  readonly activities: number;
  readonly local_activities: number;
  readonly timers: number;
  readonly signals: number;
  readonly upserts: number;
  readonly child_workflows: number;
  /** As Temporal Cloud bills them: https://docs.temporal.io/cloud/actions. Attempts, heartbeats and queries are not in a history. */
  readonly billed_actions: number;
}

/** Counts the events and actions in the history of a completed workflow. */
export async function readHistoryCost(temporal: Client, workflowId: string): Promise<HistoryCost> {
  const handle = temporal.workflow.getHandle(workflowId);
  const [{ events }, { historySize }] = await Promise.all([handle.fetchHistory(), handle.describe()]);
  const all = events ?? [];
  const count = (isCounted: (event: (typeof all)[number]) => unknown): number => all.filter(isCounted).length;
  const activities = count((event) => event.activityTaskScheduledEventAttributes);
  const timers = count((event) => event.timerStartedEventAttributes);
  const signals = count((event) => event.workflowExecutionSignaledEventAttributes);
  const upserts = count((event) => event.upsertWorkflowSearchAttributesEventAttributes);
  const children = count((event) => event.startChildWorkflowExecutionInitiatedEventAttributes);
  return {
    events: all.length,
    bytes: historySize ?? 0,
    workflow_tasks: count((event) => event.workflowTaskCompletedEventAttributes),
    activities,
    local_activities: count(isLocalActivity),
    timers,
    signals,
    upserts,
    child_workflows: children,
    // The start is one; all local activities of a workflow task are one together; a child workflow is two.
    billed_actions: 1 + activities + timers + signals + upserts + 2 * children + tasksWithLocalActivities(all),
  };
}

interface Marked {
  readonly markerRecordedEventAttributes?: {
    readonly markerName?: string | null;
    readonly workflowTaskCompletedEventId?: unknown;
  } | null;
}

function isLocalActivity({ markerRecordedEventAttributes: marker }: Marked): boolean {
  return marker?.markerName === 'core_local_activity';
}

function tasksWithLocalActivities(events: readonly Marked[]): number {
  const ids = events
    .filter(isLocalActivity)
    .map((event) => event.markerRecordedEventAttributes?.workflowTaskCompletedEventId);
  return new Set(ids.map(String)).size;
}
