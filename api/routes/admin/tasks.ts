/** Tasks of all accounts, with links to their histories. */
import type Router from '@koa/router';
import { findTask, listTasks } from '../../../db/queries/tasks.ts';
import { badRequest, ServiceError } from '../../../domain/errors.ts';
import { isId } from '../../../domain/ids.ts';
import { isTaskStatus, type TaskStatus } from '../../../domain/task.ts';
import { pageOf, presentPage, queryTime, queryValue } from '../../pagination.ts';
import type { ApiServices } from '../../services/services.ts';
import type { Context, RequestState } from '../../state.ts';
import { presentAdminTask } from './present.ts';

export function adminTaskRoutes(router: Router<RequestState>, { database, temporal, requireAdmin }: ApiServices): void {
  router.get('/admin/v1/tasks', requireAdmin, async (context) => {
    const { limit, after } = pageOf(context, 1);
    const tasks = await listTasks(database, {
      accountId: queryValue(context, 'account_id'),
      status: queryStatus(context),
      model: queryValue(context, 'model'),
      from: queryTime(context, 'from'),
      to: queryTime(context, 'to'),
      before: taskCursor(after),
      limit: limit + 1,
    });
    context.body = presentPage(
      tasks,
      limit,
      (task) => presentAdminTask(task, temporal),
      (task) => [task.id],
    );
  });

  router.get('/admin/v1/tasks/:taskId', requireAdmin, async (context) => {
    const task = await findTask(database, context.params['taskId'] ?? '');
    if (!task) throw new ServiceError('not_found', 'There is no such task. Check the id.');
    context.body = { data: presentAdminTask(task, temporal) };
  });
}

/** The id of the last task of the previous page. @throws ServiceError `bad_request` */
export function taskCursor(after: readonly string[] | undefined): string | undefined {
  const id = after?.[0];
  if (id !== undefined && !isId('task', id)) throw badRequest('"cursor" must be the "next_cursor" of an earlier page');
  return id;
}

/** @throws ServiceError `bad_request` */
export function queryStatus(context: Context): TaskStatus | undefined {
  const status = queryValue(context, 'status');
  if (status === undefined || isTaskStatus(status)) return status;
  throw badRequest('"status" must be one of: [queued processing succeeded failed]');
}
