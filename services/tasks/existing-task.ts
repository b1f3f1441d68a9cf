import type { Database } from '../../db/database.ts';
import { findTask } from '../../db/queries/tasks.ts';
import type { Task } from '../../domain/task.ts';
import { notFoundError } from '../../domain/not-found.ts';

/** The task with this id, of any account: for operators. @throws ServiceError `not_found` */
export async function existingTask(database: Database, id: string): Promise<Task> {
  const task = await findTask(database, id);
  if (!task) throw notFoundError('task');
  return task;
}
