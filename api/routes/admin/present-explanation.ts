/** A task's timeline, and the actions of operators on it, as operators see them. */
import {
  BATCH_ACTIONS,
  type BatchAction,
  type OperatorAction,
  TASK_ACTIONS,
} from '../../../db/queries/operator-actions.ts';
import type { WorkflowHistory } from '../../../services/tasks/workflow-access.ts';
import * as field from '../../../domain/resource/field.ts';
import { nested, resource } from '../../../domain/resource/resource.ts';
import type { HistoryLinks } from '../../../services/operations/history-link.ts';
import { text } from '../../../domain/json-schema.ts';
import { renderExplanation, type TaskExplanation } from '../../../services/tasks/explain-task.ts';
import { renderTimeline, type TimelineEvent } from '../../../services/tasks/timeline.ts';
import type { BatchExplanation } from '../../../services/batches/explain-batch.ts';
import { ADMIN_DELIVERY } from '../../../services/resources/webhooks.ts';
import { SUBMISSION } from '../../../services/resources/submissions.ts';
import { ADMIN_BATCH, ADMIN_TASK, TRANSFER } from '../../../services/resources/admin.ts';

const ACTION_HEAD = {
  id: field.id('operatorAction')('id'),
  object: field.constant('operator_action'),
};
const AUTHORSHIP = {
  author: field.text('author', 'The author of the action'),
  reason: field.text('reason', 'The reason of the action'),
  created_at: field.unixSeconds('createdAt', 'When the action was taken'),
};

export const OPERATOR_ACTION = resource<OperatorAction>('OperatorAction', {
  ...ACTION_HEAD,
  kind: field.oneOf(TASK_ACTIONS)('kind'),
  task_id: field.id('task')('taskId'),
  ...AUTHORSHIP,
});

const BATCH_ACTION = resource<BatchAction>('BatchAction', {
  ...ACTION_HEAD,
  kind: field.oneOf(BATCH_ACTIONS)('kind'),
  batch_id: field.id('batch')('batchId'),
  ...AUTHORSHIP,
});

const WORKFLOW = nested<Pick<WorkflowHistory, 'state'> & Pick<TaskExplanation, 'pending'>>({
  run_id: field.text(({ state }) => state.runId),
  status: field.text(({ state }) => state.status),
  started_at: field.isoTime(({ state }) => state.startedAt, 'When the workflow started'),
  closed_at: field.isoTime.orNull(({ state }) => state.closedAt, 'When the workflow ended. Null while it runs'),
  history_events: field.integer(({ state }) => state.historyEvents),
  pending: field.texts(text())('pending', 'The current step'),
});

const EVENT = nested<TimelineEvent>({
  at: field.isoTime('at', 'When the event happened'),
  source: field.text('source'),
  text: field.text('text'),
});

export const EXPLANATION = resource<TaskExplanation & { readonly temporal: HistoryLinks }>('TaskExplanation', {
  object: field.constant('task_explanation'),
  verdict: field.text('verdict', 'The state of the task and its consequences'),
  lines: field.texts(text())(renderExplanation, 'The events as lines of text'),
  task: field.object(ADMIN_TASK)(({ task, submissions, temporal }) => ({ ...task, submissions, temporal })),
  transfers: field.list(TRANSFER)('transfers'),
  submissions: field.list(SUBMISSION)('submissions'),
  deliveries: field.list(ADMIN_DELIVERY)(({ deliveries, temporal }) =>
    deliveries.map((delivery) => ({ ...delivery, temporal })),
  ),
  operator_actions: field.list(OPERATOR_ACTION)('actions'),
  workflow: field
    .object(WORKFLOW)
    .orNull(({ workflow, pending }) => (workflow ? { state: workflow.state, pending } : null)),
  events: field.list(EVENT)('events', 'The events, oldest first'),
});

export const BATCH_EXPLANATION = resource<BatchExplanation & { readonly temporal: HistoryLinks }>('BatchExplanation', {
  object: field.constant('batch_explanation'),
  verdict: field.text('verdict', 'The state of the batch'),
  lines: field.texts(text())(renderTimeline, 'The events as lines of text'),
  batch: field.object(ADMIN_BATCH)(({ batch, temporal }) => ({ ...batch, temporal })),
  operator_actions: field.list(BATCH_ACTION)('actions'),
  events: field.list(EVENT)('events', 'The events, oldest first'),
});
