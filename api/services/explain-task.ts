/** The timeline of a task from every source: its row, the ledger, deliveries, Temporal, and operator actions. */
import type { Database } from '../../db/database.ts';
import { type Delivery, listDeliveries } from '../../db/queries/deliveries.ts';
import { listOperatorActions, type OperatorAction } from '../../db/queries/operator-actions.ts';
import { type StoredSubmission, listSubmissions } from '../../db/queries/submissions.ts';
import { findTransfer, type Transfer } from '../../db/queries/transfers.ts';
import { ServiceError } from '../../domain/errors.ts';
import { noteOf } from '../../domain/media-route.ts';
import { formatUsd } from '../../domain/money.ts';
import { isFinal, type Task } from '../../domain/task.ts';
import { oldestFirst, renderTimeline, type TimelineEvent, deliveryEvents, transferEvent } from './timeline.ts';
import type { WorkflowAccess, WorkflowHistory } from '../../temporal/workflow-access.ts';

export interface TaskExplanation {
  readonly task: Task;
  /** The state of the task and its consequences, in one or two sentences. */
  readonly verdict: string;
  readonly transfers: readonly Transfer[];
  readonly submissions: readonly StoredSubmission[];
  readonly deliveries: readonly Delivery[];
  readonly actions: readonly OperatorAction[];
  /** Null if Temporal knows no workflow of the task; undefined if Temporal does not answer. */
  readonly workflow: WorkflowHistory | null | undefined;
  /** All events, oldest first. */
  readonly events: readonly TimelineEvent[];
}

/** More deliveries than any account has endpoints. */
const MAX_DELIVERIES = 500;

export async function explainTask(
  { database, workflows }: { database: Database; workflows: WorkflowAccess },
  task: Task,
): Promise<TaskExplanation> {
  const transferIds = [task.reservationId, ...(task.resolutionId === null ? [] : [task.resolutionId])];
  const [transfers, submissions, deliveries, actions, workflow] = await Promise.all([
    Promise.all(transferIds.map((id) => findTransfer(database, id, task.createdAt))),
    listSubmissions(database, task.id),
    listDeliveries(database, { taskId: task.id, limit: MAX_DELIVERIES }),
    listOperatorActions(database, task.id),
    workflows.read(task.id).catch(unlessUnavailable),
  ]);
  const parts = {
    transfers: transfers.filter((transfer) => transfer !== null),
    submissions,
    deliveries,
    actions,
    workflow,
  };
  return { task, verdict: judge(task, workflow), ...parts, events: eventsOf(task, parts) };
}

/** Renders the verdict, followed by the events as lines of text. */
export function renderExplanation({ task, verdict, events, workflow }: TaskExplanation): readonly string[] {
  return renderTimeline({ id: task.id, verdict, events, pending: workflow?.pending ?? [] });
}

function judge(task: Task, workflow: WorkflowHistory | null | undefined): string {
  const price = `${formatUsd(task.price)} USD`;
  if (task.status === 'succeeded') return `succeeded; ${price} were charged.`;
  if (task.status === 'failed') {
    return `failed with ${task.failure?.code}: ${task.failure?.message} ${price} were held and refunded in full.`;
  }
  const refund = `It will be refunded soon after its deadline, ${task.deadlineAt.toISOString()}; cancel it to refund it now.`;
  if (workflow === undefined)
    return `${task.status}; ${price} are held. Temporal does not answer, so nothing more is known.`;
  if (workflow === null) return `${task.status}; ${price} are held, and Temporal has no workflow for it yet. ${refund}`;
  if (workflow.state.closedAt === null) return `${task.status}; ${price} are held, and its workflow runs.`;
  return `${task.status}; ${price} are held, but its workflow is closed (${workflow.state.status}). ${refund}`;
}

function eventsOf(
  task: Task,
  {
    transfers,
    submissions,
    deliveries,
    actions,
    workflow,
  }: Pick<TaskExplanation, 'transfers' | 'submissions' | 'deliveries' | 'actions' | 'workflow'>,
): readonly TimelineEvent[] {
  const events: TimelineEvent[] = [
    { at: task.createdAt, source: 'task', text: `Created by request ${task.requestId} with key ${task.apiKeyId}` },
    ...transfers.map(transferEvent),
    ...submissions.flatMap(submissionEvents),
    ...(workflow?.steps ?? []).map(({ at, text }): TimelineEvent => ({ at, source: 'workflow', text })),
    ...actions.map(({ createdAt, kind, author, reason }): TimelineEvent => {
      return { at: createdAt, source: 'operator', text: `${kind} by ${author}: ${reason}` };
    }),
    ...deliveries.flatMap(deliveryEvents),
  ];
  if (task.completedAt && isFinal(task.status)) {
    const how = task.failure ? `: ${task.failure.code}` : '';
    events.push({ at: task.completedAt, source: 'task', text: `Ended as ${task.status}${how}` });
  }
  return oldestFirst(events);
}

/** The events of a submission to an upstream, and its outcome if known. */
function submissionEvents(submission: StoredSubmission): TimelineEvent[] {
  const { attempt, provider, model, submittedAt, settledAt } = submission;
  const sent = {
    at: submittedAt,
    source: 'upstream',
    text: `Attempt ${attempt}: submitted to ${provider} as ${model}`,
  } as const;
  if (settledAt === null) return [sent];
  return [sent, { at: settledAt, source: 'upstream', text: `Attempt ${attempt}: ${describeOutcome(submission)}` }];
}

function describeOutcome(submission: StoredSubmission): string {
  const { outcome, learntFrom, jobId, possibleLoss, cost, vendorCost } = submission;
  const note = noteOf(submission);
  const words = [
    ...(outcome === 'unknown'
      ? ['its outcome is unknown']
      : [`${String(outcome).replace('_', ' ')}, learnt from ${learntFrom}`]),
    ...(jobId === null ? [] : [`job ${jobId}`]),
    ...(note === null ? [] : [note]),
    ...(possibleLoss === null
      ? []
      : [`possible renders that no client received, at a list price of ${formatUsd(possibleLoss)} USD`]),
    ...(vendorCost === null ? [] : [`the upstream charged ${vendorCost.amount} ${vendorCost.unit}`]),
    ...(cost === null ? [] : [`it cost ${formatUsd(cost)} USD`]),
  ];
  return words.join('; ');
}

function unlessUnavailable(error: unknown): undefined {
  if (error instanceof ServiceError && error.code === 'processing_unavailable') return undefined;
  throw error;
}
