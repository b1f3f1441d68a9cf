/** The log of operators' actions on tasks. */
import { newId } from '../../domain/ids.ts';
import type { Database } from '../database.ts';
import { createdAtOf } from './tasks.ts';

export type OperatorActionKind = 'cancel' | 'redeliver';

export interface NewOperatorAction {
  readonly taskId: string;
  readonly kind: OperatorActionKind;
  readonly author: string;
  /** For other operators; never shown to clients. */
  readonly reason: string;
}

export interface OperatorAction extends NewOperatorAction {
  readonly id: string;
  readonly createdAt: Date;
}

interface OperatorActionRow {
  id: string;
  task_id: string;
  kind: OperatorActionKind;
  author: string;
  reason: string;
  created_at: Date;
}

/** Records an action. A task is cancelled only once: a second cancellation writes nothing and returns the first. */
export async function recordOperatorAction(database: Database, action: NewOperatorAction): Promise<OperatorAction> {
  const { taskId, kind, author, reason } = action;
  const [row] = await database('operator_actions')
    .insert({
      id: newId('operatorAction'),
      task_id: taskId,
      task_created_at: createdAtOf(taskId),
      kind,
      author,
      reason,
    })
    .onConflict(database.raw(`(task_id) WHERE kind = 'cancel'`))
    .ignore()
    .returning<OperatorActionRow[]>('*');
  const recorded = row ? toAction(row) : await findCancellation(database, taskId);
  if (!recorded) throw new Error(`the cancellation of ${taskId} was neither written nor found`);
  return recorded;
}

/** The action that cancelled a task, if there is one. */
export async function findCancellation(database: Database, taskId: string): Promise<OperatorAction | null> {
  const row = await database<OperatorActionRow>('operator_actions').where({ task_id: taskId, kind: 'cancel' }).first();
  return row ? toAction(row) : null;
}

/** The actions on a task, oldest first. */
export async function listOperatorActions(database: Database, taskId: string): Promise<readonly OperatorAction[]> {
  const rows = await database<OperatorActionRow>('operator_actions').where({ task_id: taskId }).orderBy('created_at');
  return rows.map(toAction);
}

function toAction(row: OperatorActionRow): OperatorAction {
  return {
    id: row.id,
    taskId: row.task_id,
    kind: row.kind,
    author: row.author,
    reason: row.reason,
    createdAt: row.created_at,
  };
}
