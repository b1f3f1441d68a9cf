/** Tasks of all accounts, with links to their histories. */
import type Router from '@koa/router';
import { findTask, listTasks } from '../../../db/queries/tasks.ts';
import { ServiceError } from '../../../domain/errors.ts';
import { pageOf, presentPage, queryTime, queryValue } from '../../pagination.ts';
import type { ApiServices } from '../../services/services.ts';
import type { RequestState } from '../../state.ts';
import { queryStatus, taskCursor } from '../tasks/query.ts';
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
