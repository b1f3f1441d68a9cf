/** Polling (specification section 4.4). */
import type Router from '@koa/router';
import { findAccountTask } from '../../../db/queries/tasks.ts';
import { ServiceError } from '../../../domain/errors.ts';
import { presentTask } from '../../../domain/task-object.ts';
import { isFinal } from '../../../domain/task.ts';
import type { ApiServices } from '../../services/services.ts';
import { callerOf, type RequestState } from '../../state.ts';

export function taskRoutes(router: Router<RequestState>, services: ApiServices): void {
  router.get('/v1/tasks/:taskId', services.authenticate, services.limitRequests, async (context) => {
    const taskId = context.params['taskId'] ?? '';
    const task = await findAccountTask(services.database, callerOf(context).account.id, taskId);
    if (!task) throw new ServiceError('not_found', 'There is no such task in this account. Check the id and the key.');
    const typical = isFinal(task.status) ? null : await services.typicalSeconds(task.model);
    context.body = { data: presentTask(task, typical) };
  });
}
