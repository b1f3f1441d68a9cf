/** A task's story, and the actions of operators on it, as operators see them. */
import { type OperatorAction, TASK_ACTIONS } from '../../../db/queries/operator-actions.ts';
import { nullable } from '../../../domain/json-schema.ts';
import { toUnixSeconds } from '../../../domain/unix-time.ts';
import type { HistoryLinks } from '../../history-link.ts';
import {
  arrayOf,
  component,
  exactly,
  fieldsOf,
  idOf,
  integer,
  isoTime,
  object,
  oneOfTexts,
  text,
  unixSeconds,
} from '../../openapi/json-schema.ts';
import { renderExplanation, type TaskExplanation } from '../../services/explain-task.ts';
import { AdminDeliverySchema, presentAdminDelivery } from '../webhooks/present.ts';
import { presentSubmission, SubmissionSchema } from './present-submissions.ts';
import { AdminTaskSchema, presentAdminTask, presentTransfer, TransferSchema } from './present.ts';

export const OPERATOR_ACTION_FIELDS = fieldsOf<ReturnType<typeof presentOperatorAction>>({
  id: idOf('operatorAction'),
  object: exactly('operator_action'),
  kind: oneOfTexts(TASK_ACTIONS),
  task_id: idOf('task'),
  author: text('Who'),
  reason: text('Why'),
  created_at: unixSeconds('When it was done'),
});

const OperatorActionSchema = component('OperatorAction', object(OPERATOR_ACTION_FIELDS));

export function presentOperatorAction({ id, kind, taskId, author, reason, createdAt }: OperatorAction) {
  return {
    id,
    object: 'operator_action',
    kind,
    task_id: taskId,
    author,
    reason,
    created_at: toUnixSeconds(createdAt),
  };
}

export const ExplanationSchema = component(
  'TaskExplanation',
  object({
    object: exactly('task_explanation'),
    verdict: text('The state of the task and its consequences'),
    lines: arrayOf(text(), 'The whole story as text'),
    task: AdminTaskSchema,
    transfers: arrayOf(TransferSchema),
    submissions: arrayOf(SubmissionSchema),
    deliveries: arrayOf(AdminDeliverySchema),
    operator_actions: arrayOf(OperatorActionSchema),
    workflow: nullable(
      object({
        run_id: text(),
        status: text(),
        started_at: isoTime('When it started'),
        closed_at: nullable(isoTime('When it ended')),
        history_events: integer(),
        pending: arrayOf(text(), 'Its current step'),
      }),
    ),
    events: arrayOf(object({ at: isoTime('When'), source: text(), text: text() }), 'Oldest first'),
  }),
);

export function presentExplanation(explanation: TaskExplanation, temporal: HistoryLinks) {
  const { task, verdict, transfers, submissions, deliveries, actions, workflow, events } = explanation;
  return {
    object: 'task_explanation',
    verdict,
    lines: renderExplanation(explanation),
    task: presentAdminTask(task, { submissions, temporal }),
    transfers: transfers.map(presentTransfer),
    submissions: submissions.map(presentSubmission),
    deliveries: deliveries.map((delivery) => presentAdminDelivery(delivery, temporal)),
    operator_actions: actions.map(presentOperatorAction),
    workflow: workflow && {
      run_id: workflow.state.runId,
      status: workflow.state.status,
      started_at: workflow.state.startedAt.toISOString(),
      closed_at: workflow.state.closedAt?.toISOString() ?? null,
      history_events: workflow.state.historyEvents,
      pending: workflow.pending,
    },
    events: events.map(({ at, source, text }) => ({ at: at.toISOString(), source, text })),
  };
}
