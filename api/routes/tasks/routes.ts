/** Polling (specification section 4.4), and a list of tasks beside it. */
import type Router from '@koa/router';
import { againIfLost } from '../../../db/connections.ts';
import { findAccountTask, listTasks } from '../../../db/queries/tasks.ts';
import { badRequest, ServiceError } from '../../../domain/errors.ts';
import { presentTask } from '../../../domain/task-object.ts';
import { isFinal, type TaskKind } from '../../../domain/task.ts';
import { pageOf, presentPage, queryTime, queryValue } from '../../pagination.ts';
import type { ApiServices } from '../../services/services.ts';
import { callerOf, type Context, type RequestState } from '../../state.ts';
import { queryStatus, taskCursor } from './query.ts';

export function taskRoutes(router: Router<RequestState>, services: ApiServices): void {
  const { database, authenticate, limitRequests, typicalSeconds } = services;

  router.get('/v1/tasks', authenticate, limitRequests, async (context) => {
    const { limit, after } = pageOf(context, 1);
    const tasks = await listTasks(database, {
      accountId: callerOf(context).account.id,
      status: queryStatus(context),
      model: queryValue(context, 'model'),
      kind: queryKind(context),
      from: queryTime(context, 'from'),
      to: queryTime(context, 'to'),
      before: taskCursor(after),
      limit: limit + 1,
    });
    context.body = presentPage(
      tasks,
      limit,
      (task) => presentTask(task),
      (task) => [task.id],
    );
  });

  router.get('/v1/tasks/:taskId', authenticate, limitRequests, async (context) => {
    const taskId = context.params['taskId'] ?? '';
    const { account } = callerOf(context);
    const task = await againIfLost(() => findAccountTask(database, account.id, taskId));
    if (!task) throw new ServiceError('not_found', 'There is no such task in this account. Check the id and the key.');
    const typical = isFinal(task.status) ? null : await typicalSeconds(task.model);
    context.body = { data: presentTask(task, typical) };
  });
}

/** @throws ServiceError `bad_request` */
function queryKind(context: Context): TaskKind | undefined {
  const kind = queryValue(context, 'task_kind');
  if (kind === undefined || kind === 'image' || kind === 'video') return kind;
  throw badRequest('"task_kind" must be one of: [image video]');
}
