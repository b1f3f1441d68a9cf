/** What operators do to single tasks, and the story of one. */
import type Router from '@koa/router';
import { requestRedeliveries } from '../../../db/queries/deliveries.ts';
import { type OperatorAction, recordOperatorAction } from '../../../db/queries/operator-actions.ts';
import { findTask } from '../../../db/queries/tasks.ts';
import { badRequest, ServiceError } from '../../../domain/errors.ts';
import type { Task } from '../../../domain/task.ts';
import { WEBHOOKS } from '../../../domain/policy.ts';
import { cancelTask } from '../../services/cancel-task.ts';
import { explainTask, renderExplanation, type TaskExplanation } from '../../services/explain-task.ts';
import type { ApiServices } from '../../services/services.ts';
import type { Context, RequestState } from '../../state.ts';
import { presentAdminDelivery } from '../webhooks/present.ts';
import { presentAdminTask, presentTransfer } from './present.ts';
import { parseOperatorAction } from './schema.ts';

/** More than any account has endpoints. */
const MAX_REDELIVERIES = 500;

export function operatorActionRoutes(router: Router<RequestState>, services: ApiServices): void {
  const { database, temporal, requireAdmin, jsonBody } = services;

  router.post('/admin/v1/tasks/:taskId/cancel', requireAdmin, jsonBody, async (context) => {
    const { reason, author = 'admin' } = parseOperatorAction(context.state.body);
    const task = await existingTask(context);
    const action = await cancelTask(services, task, { author, reason });
    context.status = 202;
    context.body = {
      data: { ...presentAction(action), task: presentAdminTask(await existingTask(context), temporal) },
    };
  });

  router.post('/admin/v1/tasks/:taskId/redeliver', requireAdmin, jsonBody, async (context) => {
    const { reason, author = 'admin' } = parseOperatorAction(context.state.body);
    const { id: taskId } = await existingTask(context);
    const { action, count } = await database.transaction(async (transaction) => {
      const { count } = await requestRedeliveries(transaction, { taskId, limit: MAX_REDELIVERIES });
      if (count === 0) throw nothingToSend();
      return { count, action: await recordOperatorAction(transaction, { taskId, kind: 'redeliver', author, reason }) };
    });
    context.status = 202;
    context.body = { data: { ...presentAction(action), count } };
  });

  router.get('/admin/v1/tasks/:taskId/explanation', requireAdmin, async (context) => {
    const explanation = await explainTask(services, await existingTask(context));
    if (context.accepts('json', 'text') === 'text') context.body = `${renderExplanation(explanation).join('\n')}\n`;
    else context.body = { data: presentExplanation(explanation) };
  });

  async function existingTask(context: Context): Promise<Task> {
    const task = await findTask(database, context.params['taskId'] ?? '');
    if (!task) throw new ServiceError('not_found', 'There is no such task. Check the id.');
    return task;
  }

  function presentExplanation(explanation: TaskExplanation) {
    const { task, verdict, transfers, deliveries, actions, workflow, events } = explanation;
    return {
      object: 'task_explanation',
      verdict,
      lines: renderExplanation(explanation),
      task: presentAdminTask(task, temporal),
      transfers: transfers.map(presentTransfer),
      deliveries: deliveries.map((delivery) => presentAdminDelivery(delivery, temporal)),
      operator_actions: actions.map(presentAction),
      workflow: workflow
        ? {
            run_id: workflow.state.runId,
            status: workflow.state.status,
            started_at: workflow.state.startedAt.toISOString(),
            closed_at: workflow.state.closedAt?.toISOString() ?? null,
            history_events: workflow.state.historyEvents,
            pending: workflow.pending,
          }
        : null,
      events: events.map(({ at, source, text }) => ({ at: at.toISOString(), source, text })),
    };
  }
}

function nothingToSend(): ServiceError {
  return badRequest(
    'The task has no delivery that can be sent again: no endpoint wanted its event, they are disabled or deleted by now, ' +
      `or each delivery has had ${WEBHOOKS.maxAttempts} attempts.`,
  );
}

function presentAction({ id, kind, taskId, author, reason, createdAt }: OperatorAction) {
  return {
    id,
    object: 'operator_action',
    kind,
    task_id: taskId,
    author,
    reason,
    created_at: Math.floor(createdAt.getTime() / 1000),
  };
}
