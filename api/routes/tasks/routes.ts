/** Polling (contract 4.4), and the list of tasks. */
import { retryOnLostConnection } from '../../../db/connections.ts';
import { findLateResult } from '../../../db/queries/late-results.ts';
import { findAccountTask, listTasks as findTasks } from '../../../db/queries/tasks.ts';
import { ServiceError } from '../../../domain/errors.ts';
import { LATE_RESULT, TASK } from '../../../domain/task-object.ts';
import { isFinal, TASK_KINDS, TASK_STATUSES } from '../../../domain/task.ts';
import { dataOf } from '../../endpoint/answers.ts';
import { ignoredJsonBody } from '../../endpoint/body.ts';
import { endpoint, endpoints } from '../../endpoint/endpoint.ts';
import { listPage, pageById, pageOf } from '../../endpoint/page.ts';
import { notFoundError } from '../../../domain/not-found.ts';
import { textParameter, choiceParameter, PERIOD } from '../../endpoint/query.ts';
import { claimLateResult } from '../../../services/tasks/claim-late-result.ts';
import { cancelOwnTask as cancel } from '../../../services/tasks/cancel-task.ts';

export const taskEndpoints = endpoints('Media tasks', {
  listTasks: endpoint({
    request: 'GET /v1/tasks',
    access: 'key',
    summary: 'List tasks, newest first',
    query: {
      status: choiceParameter(TASK_STATUSES, 'Filters by status'),
      task_kind: choiceParameter(TASK_KINDS, 'Filters by kind'),
      model: textParameter('Filters by model'),
      batch_id: textParameter('Filters by batch'),
      ...PERIOD,
      ...pageById('task'),
    },
    answers: { 200: pageOf(TASK.schema, 'A page of tasks') },
    handle: ({ caller, query }, { database }) => {
      const filter = { ...query, accountId: caller.account.id, kind: query.task_kind, batchId: query.batch_id };
      return listPage(query, (slice) => findTasks(database, { ...filter, ...slice }), TASK.present);
    },
  }),
  getTask: endpoint({
    request: 'GET /v1/tasks/{task_id}',
    access: 'key',
    summary: 'Get a task',
    description:
      'Wait `poll_after_seconds` between polls. For a failed task, the status is also 200, and the body contains the error.',
    answers: { 200: dataOf(TASK.schema, 'The task') },
    handle: async ({ caller, params }, { database, tasks: { typicalSeconds } }) => {
      const task = await retryOnLostConnection(() => findAccountTask(database, caller.account.id, params.task_id));
      if (!task) throw notFoundError('task', caller);
      if (isFinal(task.status)) return { data: TASK.present(task) };
      return { data: TASK.present({ ...task, typicalSeconds: await typicalSeconds(task.model) }) };
    },
  }),
  cancelOwnTask: endpoint({
    request: 'POST /v1/tasks/{task_id}/cancel',
    access: 'key',
    summary: 'Cancel a task',
    description:
      'Ends the task and refunds the full price, if the model certainly renders nothing. Otherwise answers 409 with the reason.',
    body: ignoredJsonBody,
    answers: { 200: dataOf(TASK.schema, 'The task, failed and refunded') },
    refusals: ['idempotency_conflict', 'processing_unavailable'],
    handle: async ({ caller, params }, services) => {
      const task = await findAccountTask(services.database, caller.account.id, params.task_id);
      if (!task) throw notFoundError('task', caller);
      return { data: TASK.present(await cancel(services, task)) };
    },
  }),
  getLateResult: endpoint({
    request: 'GET /v1/tasks/{task_id}/late-result',
    access: 'key',
    summary: 'Get the late result of a refunded task',
    description:
      'The result arrived after the refund. The task stays refunded. Answers 404 if there is no late result, or it has expired.',
    answers: { 200: dataOf(LATE_RESULT.schema, 'The late result') },
    handle: async ({ caller, params }, { database }) => {
      const task = await findAccountTask(database, caller.account.id, params.task_id);
      if (!task) throw notFoundError('task', caller);
      const late = await findLateResult(database, { accountId: caller.account.id, taskId: task.id });
      if (!late) throw new ServiceError('not_found', 'The task has no late result, or the late result has expired.');
      return { data: LATE_RESULT.present(late) };
    },
  }),
  claimTask: endpoint({
    request: 'POST /v1/tasks/{task_id}/claim',
    access: 'key',
    summary: 'Claim the late result of a refunded task',
    description:
      'Creates a new task with the result, at the price of the refunded task, which stays refunded. A second claim returns the same new ' +
      'task. Answers 409 if there is no late result.',
    body: ignoredJsonBody,
    answers: { 200: dataOf(TASK.schema, 'The new task, succeeded and charged') },
    refusals: ['idempotency_conflict', 'insufficient_credits', 'processing_unavailable'],
    handle: async ({ caller, params, context }, services) => {
      const task = await findAccountTask(services.database, caller.account.id, params.task_id);
      if (!task) throw notFoundError('task', caller);
      const { requestId } = context.state;
      return { data: TASK.present(await claimLateResult(services, { task, key: caller.key, requestId })) };
    },
  }),
});
