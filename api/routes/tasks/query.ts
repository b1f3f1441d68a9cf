/** Query parameters of lists of tasks. */
import { badRequest } from '../../../domain/errors.ts';
import { isId } from '../../../domain/ids.ts';
import { isTaskStatus, type TaskStatus } from '../../../domain/task.ts';
import { queryValue } from '../../pagination.ts';
import type { Context } from '../../state.ts';

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
