/** Tasks of all accounts: their timelines, and the actions of operators on them. */
import type { Database } from '../../../db/database.ts';
import { recordPromptsRead } from '../../../db/queries/operator-actions.ts';
import { listSubmissions, listSubmissionsOf } from '../../../db/queries/submissions.ts';
import { listTasks } from '../../../db/queries/tasks.ts';
import { badRequest, ServiceError, TASK_ERROR_CODES } from '../../../domain/errors.ts';
import { hasStaffPermission } from '../../../domain/roles.ts';
import { type Task, TASK_STATUSES } from '../../../domain/task.ts';
import { dataOf, withPlainText } from '../../endpoint/answers.ts';
import { jsonBody } from '../../endpoint/body.ts';
import { endpoint, endpoints } from '../../endpoint/endpoint.ts';
import { listPage, pageById, pageOf } from '../../endpoint/page.ts';
import { type Slice } from '../../../services/page.ts';
import { ATTEMPTS, flagParameter, textParameter, choiceParameter, PERIOD } from '../../endpoint/query.ts';
import { integer, object } from '../../../domain/json-schema.ts';
import type { HistoryLinks } from '../../../services/operations/history-link.ts';
import { type Administrator, authorshipOf } from '../../../services/people/administrator.ts';
import { cancelTask as cancel } from '../../../services/tasks/cancel-task.ts';
import { existingTask } from '../../../services/tasks/existing-task.ts';
import { explainTask as explain, renderExplanation } from '../../../services/tasks/explain-task.ts';
import { redeliverTask as redeliver } from '../../../services/webhooks/redeliver-task.ts';
import { ADMIN_TASK } from '../../../services/resources/admin.ts';
import { EXPLANATION, OPERATOR_ACTION } from './present-explanation.ts';
import { operatorActionSchema } from '../../../services/input/admin.ts';

/** Prompts are the customers' content: an operator who reads them gives a reason, which is recorded. */
const PROMPTS = {
  prompts: flagParameter('Whether to show the prompts. The log of operator actions records each task that was shown'),
  reason: textParameter('The reason for reading prompts. Required with `prompts`'),
  author: textParameter('The reader. By default, the holder of the admin token'),
};

interface PromptQuery {
  readonly prompts: boolean | undefined;
  readonly reason: string | undefined;
  readonly author: string | undefined;
}

const actionBody = jsonBody('OperatorActionRequest', operatorActionSchema);

export const adminTaskEndpoints = endpoints('Administration', {
  listAllTasks: endpoint({
    request: 'GET /admin/v1/tasks',
    access: 'admin-read',
    summary: 'List tasks of all accounts, newest first',
    query: {
      account_id: textParameter('Filters by account'),
      status: choiceParameter(TASK_STATUSES, 'Filters by status'),
      model: textParameter('Filters by model'),
      batch_id: textParameter('Filters by batch'),
      error_code: choiceParameter(TASK_ERROR_CODES, 'Filters by the error code of failed tasks'),
      overdue: flagParameter('Whether to list only tasks that are past their deadline without being final'),
      ...ATTEMPTS,
      ...PROMPTS,
      ...PERIOD,
      ...pageById('task'),
    },
    answers: { 200: pageOf(ADMIN_TASK.schema, 'A page of tasks') },
    handle: ({ caller, query }, { database, operations: { temporal } }) => {
      const { account_id: accountId, batch_id: batchId, error_code: errorCode, status, model, ...others } = query;
      const { upstream, fault, overdue: isOverdue, from, to } = others;
      const filter = { accountId, batchId, status, model, errorCode, isOverdue, upstream, fault, from, to };
      const read = async (slice: Slice) => {
        const tasks = await listTasks(database, { ...filter, ...slice });
        const canReadPrompt = await mayReadPrompts(database, caller, tasks.slice(0, query.limit), query);
        const all = await listSubmissionsOf(
          database,
          tasks.map(({ id }) => id),
        );
        return tasks.map((task) => {
          const submissions = all.filter(({ taskId }) => taskId === task.id);
          return { ...task, submissions, temporal, canReadPrompt };
        });
      };
      return listPage(query, read, ADMIN_TASK.present);
    },
  }),
  getAnyTask: endpoint({
    request: 'GET /admin/v1/tasks/{task_id}',
    access: 'admin-read',
    summary: 'Get a task of any account, with a link to its history',
    query: PROMPTS,
    answers: { 200: dataOf(ADMIN_TASK.schema, 'The task') },
    handle: async ({ params, caller, query }, { database, operations: { temporal } }) => {
      const task = await existingTask(database, params.task_id);
      const prompt = await mayReadPrompts(database, caller, [task], query);
      const submissions = await listSubmissions(database, task.id);
      return { data: ADMIN_TASK.present({ ...task, submissions, temporal, canReadPrompt: prompt }) };
    },
  }),
  cancelTask: endpoint({
    request: 'POST /admin/v1/tasks/{task_id}/cancel',
    access: 'admin',
    summary: 'Cancel and refund a running task',
    body: actionBody,
    answers: {
      202: dataOf(object({ ...OPERATOR_ACTION.schemas, task: ADMIN_TASK.schema }), 'The task and the action'),
    },
    refusals: ['processing_unavailable'],
    handle: async ({ params, caller, body }, services) => {
      const { database } = services;
      const { temporal } = services.operations;
      const found = await existingTask(database, params.task_id);
      const action = await cancel(services, found, authorshipOf(caller, body));
      const task = await readAdminTask(database, params.task_id, temporal);
      return { data: { ...OPERATOR_ACTION.present(action), task } };
    },
  }),
  redeliverTask: endpoint({
    request: 'POST /admin/v1/tasks/{task_id}/redeliver',
    access: 'admin',
    summary: 'Redeliver the events of a task',
    body: actionBody,
    answers: {
      202: dataOf(object({ ...OPERATOR_ACTION.schemas, count: integer() }), 'The number of pending deliveries'),
    },
    handle: async ({ params, caller, body }, { database }) => {
      const { id: taskId } = await existingTask(database, params.task_id);
      const { action, count } = await redeliver(database, taskId, authorshipOf(caller, body));
      return { data: { ...OPERATOR_ACTION.present(action), count } };
    },
  }),
  explainTask: endpoint({
    request: 'GET /admin/v1/tasks/{task_id}/explanation',
    access: 'admin-read',
    summary: 'Get the timeline of a task',
    description:
      'Collects the events of the task from the database, the ledger, the workflow, the deliveries and operators’ actions. `Accept: text/plain` returns text.',
    answers: { 200: withPlainText(dataOf(EXPLANATION.schema, 'The state and the events of the task')) },
    handle: async ({ params, context }, services) => {
      const explanation = await explain(services, await existingTask(services.database, params.task_id));
      if (context.accepts('json', 'text') === 'text') return `${renderExplanation(explanation).join('\n')}\n`;
      return { data: EXPLANATION.present({ ...explanation, temporal: services.operations.temporal }) };
    },
  }),
});

/**
 * Records who reads the prompts of these tasks.
 *
 * @returns whether the query asks for the prompts
 * @throws ServiceError `bad_request` without a reason, `forbidden` for a caller who is not an operator
 */
async function mayReadPrompts(
  database: Database,
  caller: Administrator,
  tasks: readonly Task[],
  { prompts = false, reason, author }: PromptQuery,
): Promise<boolean> {
  if (!prompts) return false;
  if (!hasStaffPermission(caller.role, 'operate'))
    throw new ServiceError('forbidden', 'Only an operator may read prompts.');
  if (reason === undefined) throw badRequest('"reason" is required with "prompts": say why you read them');
  const ids = tasks.map(({ id }) => id);
  await recordPromptsRead(database, ids, authorshipOf(caller, { author, reason }));
  return true;
}

async function readAdminTask(database: Database, id: string, temporal: HistoryLinks) {
  const task = await existingTask(database, id);
  return ADMIN_TASK.present({ ...task, submissions: await listSubmissions(database, task.id), temporal });
}
