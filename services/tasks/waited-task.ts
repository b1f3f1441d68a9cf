/** Reads tasks for calls that wait for them. */
import { retryOnLostConnection } from '../../db/connections.ts';
import type { Database } from '../../db/database.ts';
import { findAccountTask } from '../../db/queries/tasks.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { Task } from '../../domain/task.ts';
import { cached } from '../cached.ts';

type TaskOfAccount = Pick<Task, 'accountId' | 'id'>;

/** @throws ServiceError `not_found` */
async function readOwnTask(database: Database, { accountId, id }: TaskOfAccount): Promise<Task> {
  const task = await retryOnLostConnection(() => findAccountTask(database, accountId, id));
  if (task === null) throw new ServiceError('not_found', 'There is no such task in this account.');
  return task;
}

/** About the shortest pause between two polls of a call. */
const SHARED_FOR_MS = 200;
const MAX_TASKS = 10_000;

/** The calls of this process that wait for the same task share its reads, however many they are. */
export function createReadWaitedTask(database: Database): (task: TaskOfAccount) => Promise<Task> {
  const read = cached(
    (names) => {
      const [accountId = '', id = ''] = names.split(' ');
      return readOwnTask(database, { accountId, id });
    },
    { forMs: SHARED_FOR_MS, maxEntries: MAX_TASKS },
  );
  return ({ accountId, id }) => read(`${accountId} ${id}`);
}
