/** Operators' and probes' access to Temporal. Every call ends within seconds, even when Temporal is down. */
import type {
  Client,
  WorkflowExecutionDescription,
  WorkflowExecutionInfo,
  WorkflowExecutionStatusName,
} from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import { ServiceError } from '../../domain/errors.ts';
import { WITHDRAW_LIMIT_MS } from '../../domain/step-limits.ts';
import { SEARCH_ATTRIBUTES } from '../../domain/search-attributes.ts';
import { ENDING_MEMO, type RecordedEnding } from '../../domain/task.ts';
import { isNotFound } from './workflow-not-found.ts';
import { type HistoryStep, readHistorySteps, readPendingStep } from './history-steps.ts';
import type { CancelAnswer } from '../../workflows/customer-cancellation.ts';

/** The state of a workflow's latest run. */
export interface WorkflowState {
  readonly runId: string;
  readonly status: WorkflowExecutionStatusName;
  readonly startedAt: Date;
  /** Null while it runs. */
  readonly closedAt: Date | null;
  readonly historyEvents: number;
  /** Once the workflow has ended: `succeeded` or an error code for a task, `delivered` or `failed` for a delivery. */
  readonly outcome: string | null;
}

/** A workflow's state and the steps of its history. */
export interface WorkflowHistory {
  readonly state: WorkflowState;
  readonly steps: readonly HistoryStep[];
  /** The steps in progress. */
  readonly pending: readonly HistoryStep[];
}

export interface WorkflowAccess {
  isReachable(): Promise<boolean>;
  /**
   * @returns null when Temporal knows no workflow with that id
   * @throws ServiceError `processing_unavailable` when Temporal does not answer
   */
  describe(workflowId: string): Promise<WorkflowState | null>;
  /** Returns the workflow as {@link describe} does, with the steps of its history. */
  read(workflowId: string): Promise<WorkflowHistory | null>;
  /**
   * The ending of a task that the runs of its workflow record; null if they record none.
   *
   * @throws ServiceError `processing_unavailable` when Temporal does not answer
   */
  readEnding(taskId: string): Promise<RecordedEnding | null>;
  /**
   * Asks a workflow to stop and clean up.
   *
   * @returns whether the workflow is still running
   * @throws ServiceError `processing_unavailable` when Temporal does not answer
   */
  cancel(workflowId: string): Promise<boolean>;
  /**
   * Asks the workflow of a task to end it for its customer, and waits for the outcome.
   *
   * @returns null when no workflow of the task is running
   * @throws ServiceError `processing_unavailable` when the outcome is not known in time: ask again
   */
  cancelByCustomer(taskId: string): Promise<CancelAnswer | null>;
}

/** A server that takes longer is in trouble. */
const DEADLINE_MS = 3_000;
/** Within it the provider is asked to stop, and the price is refunded. */
const CANCEL_DEADLINE_MS = WITHDRAW_LIMIT_MS + 8_000;

export function createWorkflowAccess(client: Client): WorkflowAccess {
  const soon = <Result>(call: () => Promise<Result>): Promise<Result> =>
    client.connection.withDeadline(Date.now() + DEADLINE_MS, call);

  /** @returns undefined when there is no such workflow */
  async function ifKnown<Result>(call: () => Promise<Result>): Promise<Result | undefined> {
    try {
      return await soon(call);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw new ServiceError('processing_unavailable', 'Temporal does not answer. Try again.', { cause: error });
    }
  }

  async function describe(workflowId: string): Promise<WorkflowState | null> {
    const found = await ifKnown(() => client.workflow.getHandle(workflowId).describe());
    return found ? toState(found) : null;
  }

  /** The ending that the newest run with one records; null for none. */
  async function findRecordedEnding(workflowId: string): Promise<RecordedEnding | null> {
    for await (const { raw } of client.workflow.list({ query: `WorkflowId = '${workflowId}'` })) {
      const recorded = recordedEndingIn(raw.memo);
      if (recorded) return recorded;
    }
    return null;
  }

  return {
    isReachable: () =>
      soon(() => client.workflowService.getSystemInfo({})).then(
        () => true,
        () => false,
      ),
    describe,
    read: async (workflowId) => {
      const handle = client.workflow.getHandle(workflowId);
      const found = await ifKnown(() => Promise.all([handle.describe(), handle.fetchHistory()]));
      if (!found) return null;
      const [description, history] = found;
      return {
        state: toState(description),
        steps: readHistorySteps(history),
        pending: pendingOf(description).map((activity) => readPendingStep(history, activity)),
      };
    },
    readEnding: async (taskId) => {
      const latest = await ifKnown(() => client.workflow.getHandle(taskId).describe());
      if (!latest) return null;
      // If a workflow was reset after its task had ended, an earlier run records the ending.
      return recordedEndingIn(latest.raw.workflowExecutionInfo?.memo) ?? soon(() => findRecordedEnding(taskId));
    },
    cancel: async (workflowId) => {
      const accepted = await ifKnown(() => client.workflow.getHandle(workflowId).cancel());
      // Temporal also accepts it for some workflows that have closed.
      return accepted !== undefined && (await describe(workflowId))?.status === 'RUNNING';
    },
    // Temporal limits the updates in progress of a workflow.
    cancelByCustomer: shareCalls((taskId) => cancelByCustomer(client, taskId)),
  };
}

/** Simultaneous calls with one id share a call. */
function shareCalls<Result>(call: (id: string) => Promise<Result>): (id: string) => Promise<Result> {
  const calls = new Map<string, Promise<Result>>();
  return (id) => {
    const shared = calls.get(id) ?? call(id).finally(() => calls.delete(id));
    calls.set(id, shared);
    return shared;
  };
}

async function cancelByCustomer(client: Client, taskId: string): Promise<CancelAnswer | null> {
  const handle = client.workflow.getHandle(taskId);
  try {
    return await client.connection.withDeadline(Date.now() + CANCEL_DEADLINE_MS, () =>
      handle.executeUpdate<CancelAnswer, []>('cancelByCustomer'),
    );
  } catch (error) {
    if (isNotFound(error)) return null;
    const advice = 'Whether the task was cancelled is not known yet. Try again.';
    throw new ServiceError('processing_unavailable', advice, { cause: error });
  }
}

function recordedEndingIn(memo: WorkflowExecutionInfo['raw']['memo']): RecordedEnding | null {
  const payload = memo?.fields?.[ENDING_MEMO];
  return payload ? defaultPayloadConverter.fromPayload<RecordedEnding>(payload) : null;
}

function toState(description: WorkflowExecutionDescription): WorkflowState {
  const { runId, status, startTime, closeTime, historyLength, typedSearchAttributes } = description;
  return {
    runId,
    status: status.name,
    startedAt: startTime,
    closedAt: closeTime ?? null,
    historyEvents: historyLength,
    outcome: typedSearchAttributes.get(SEARCH_ATTRIBUTES.outcome) ?? null,
  };
}

/** A cancelled workflow can close before an activity that it abandoned has noticed. */
function pendingOf({ closeTime, raw }: WorkflowExecutionDescription) {
  return closeTime ? [] : (raw.pendingActivities ?? []);
}
