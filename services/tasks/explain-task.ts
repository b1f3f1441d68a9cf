/** The timeline of a task from every source: its row, the ledger, deliveries, Temporal, and operator actions. */
import { type Delivery, listDeliveries } from '../../db/queries/deliveries.ts';
import { listOperatorActions, type OperatorAction } from '../../db/queries/operator-actions.ts';
import { type StoredSubmission, listSubmissions } from '../../db/queries/submissions.ts';
import { findTransfer, type Transfer } from '../../db/queries/transfers.ts';
import { ServiceError } from '../../domain/errors.ts';
import { formatDollars } from '../../domain/money.ts';
import { isFinal, type Task, reasonOf } from '../../domain/task.ts';
import {
  deliveryEvents,
  describeStep,
  oldestFirst,
  renderTimeline,
  type TimelineEvent,
  transferEvent,
} from './timeline.ts';
import { TIMELINE_TEXTS, type TimelineTexts, timelineLabel } from './timeline-texts.ts';
import type { WorkflowHistory } from './workflow-access.ts';
import type { Services } from '../services.ts';

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
  /** The steps in progress. */
  readonly pending: readonly string[];
  /** All events, oldest first. */
  readonly events: readonly TimelineEvent[];
}

/** More deliveries than any account has endpoints. */
const MAX_DELIVERIES = 500;

export async function explainTask(
  { database, tasks }: Pick<Services, 'database' | 'tasks'>,
  task: Task,
  texts = TIMELINE_TEXTS,
): Promise<TaskExplanation> {
  const transferIds = [task.reservationId, ...(task.resolutionId === null ? [] : [task.resolutionId])];
  const [transfers, submissions, deliveries, actions, workflow] = await Promise.all([
    Promise.all(transferIds.map((id) => findTransfer(database, id, task.createdAt))),
    listSubmissions(database, task.id),
    listDeliveries(database, { taskId: task.id, limit: MAX_DELIVERIES }),
    listOperatorActions(database, task.id),
    tasks.workflows.read(task.id).catch(unlessUnavailable),
  ]);
  const parts = {
    transfers: transfers.filter((transfer) => transfer !== null),
    submissions,
    deliveries,
    actions,
    workflow,
  };
  const pending = (workflow?.pending ?? []).map((step) => describeStep(step, task.price, texts));
  return { task, verdict: judge(task, workflow, texts), ...parts, pending, events: eventsOf(task, parts, texts) };
}

/** Renders the verdict, followed by the events as lines of text. */
export function renderExplanation({ task, verdict, events, pending }: TaskExplanation): readonly string[] {
  return renderTimeline({ id: task.id, verdict, events, pending });
}

function judge(task: Task, workflow: WorkflowHistory | null | undefined, texts: TimelineTexts): string {
  const { task: phrases } = texts;
  const price = formatDollars(task.price);
  if (task.status === 'succeeded') return phrases.succeeded(price);
  if (task.failure) return phrases.failed(timelineLabel(reasonOf(task.failure), texts), task.failure.message, price);
  const refund = phrases.refundSoon(task.deadlineAt.toISOString());
  if (workflow === undefined) return phrases.temporalSilent(price);
  if (workflow === null) return `${phrases.noWorkflow(price)} ${refund}`;
  if (workflow.state.closedAt === null) return phrases.inProgress(price);
  return `${phrases.workflowClosed(price, workflow.state.status)} ${refund}`;
}

type Parts = Pick<TaskExplanation, 'transfers' | 'submissions' | 'deliveries' | 'actions' | 'workflow'>;

function eventsOf(
  task: Task,
  { transfers, submissions, deliveries, actions, workflow }: Parts,
  texts: TimelineTexts,
): readonly TimelineEvent[] {
  const { task: phrases } = texts;
  const label = (value: string): string => timelineLabel(value, texts);
  const events: TimelineEvent[] = [
    { at: task.createdAt, source: 'task', text: phrases.created(task.requestId, task.apiKeyId) },
    ...transfers.map((transfer) => transferEvent(transfer, texts)),
    ...submissions.flatMap((submission) => submissionEvents(submission, task, texts)),
    ...(workflow?.steps ?? []).map((step): TimelineEvent => {
      return { at: step.at, source: 'workflow', text: describeStep(step, task.price, texts) };
    }),
    ...actions.map(({ createdAt, kind, author, reason }): TimelineEvent => {
      return { at: createdAt, source: 'operator', text: texts.operator(label(kind), null, author, reason) };
    }),
    ...deliveries.flatMap((delivery) => deliveryEvents(delivery, texts)),
  ];
  if (task.completedAt && isFinal(task.status)) {
    const text = phrases.ended(label(task.status), task.failure ? label(reasonOf(task.failure)) : null);
    events.push({ at: task.completedAt, source: 'task', text });
  }
  return oldestFirst(events);
}

/** The events of a submission to an upstream, and its outcome if known. */
function submissionEvents(submission: StoredSubmission, { completedAt }: Task, texts: TimelineTexts): TimelineEvent[] {
  const { attempt, provider, model, submittedAt, settledAt, outcome, code } = submission;
  const { submission: phrases } = texts;
  const sent = upstreamEvent(submittedAt, phrases.submitted(attempt, provider, model));
  if (settledAt === null) return [sent];
  const settled = upstreamEvent(settledAt, phrases.attempt(attempt, describeOutcome(submission, texts)));
  if (outcome !== 'accepted' || code === null) return [sent, settled];
  return [
    sent,
    settled,
    upstreamEvent(completedAt ?? settledAt, phrases.attempt(attempt, outcomeWords(submission, texts))),
  ];
}

function upstreamEvent(at: Date, text: string): TimelineEvent {
  return { at, source: 'upstream', text };
}

/** The evidence of a submission whose outcome the upstream answered itself. */
const ITS_ANSWER = 'the answer';

function describeOutcome(submission: StoredSubmission, texts: TimelineTexts): string {
  const { outcome, evidence, jobId, possibleLoss, cost, vendorCost } = submission;
  const { submission: phrases } = texts;
  const source =
    outcome === 'unknown' || evidence === null || evidence === ITS_ANSWER
      ? ''
      : phrases.knownFrom(timelineLabel(evidence, texts));
  return [
    `${outcome === 'accepted' ? phrases.accepted(submission.provider) : outcomeWords(submission, texts)}${source}`,
    ...(jobId === null ? [] : [phrases.job(jobId)]),
    ...(possibleLoss === null ? [] : [phrases.possibleLoss(formatDollars(possibleLoss))]),
    ...(vendorCost === null ? [] : [phrases.vendorCharged(vendorCost.amount, vendorCost.unit)]),
    ...(cost === null ? [] : [phrases.cost(formatDollars(cost))]),
  ].join(texts.separator);
}

/** Describes how a submission ended, with the reason: "kling refused access (code 1102)". */
export function outcomeWords(
  { outcome, code, detail, provider }: Pick<StoredSubmission, 'outcome' | 'code' | 'detail' | 'provider'>,
  texts: TimelineTexts,
): string {
  const { submission: phrases } = texts;
  const reason = detail?.replace(/^the upstream answered /, '') ?? '';
  const because = reason === '' ? '' : phrases.because(reason);
  const word = code === null ? '' : timelineLabel(code, texts);
  const codeAndReason = phrases.because([word, reason].filter((part) => part !== '').join(': '));
  if (outcome === 'accepted')
    return code === null ? phrases.accepted(provider) : `${phrases.noResult(provider)}${codeAndReason}`;
  if (outcome === 'unknown') return `${phrases.unknown(provider)}${because}`;
  if (outcome === 'refused') return `${phrases.refused(provider)}${codeAndReason}`;
  const phrase = phrases.notTaken[code ?? ''] ?? phrases.notTakenOtherwise;
  return `${phrase(provider)}${because}`;
}

/** Handles the error of a read of Temporal: the result is undefined if Temporal does not answer. */
export function unlessUnavailable(error: unknown): undefined {
  if (error instanceof ServiceError && error.code === 'processing_unavailable') return undefined;
  throw error;
}
