/** The log of operators' actions on tasks and accounts, and of the prompts that they read. */
import { newId } from '../../domain/ids.ts';
import type { Database } from '../database.ts';
import { createdAtOf } from './tasks.ts';
import type { RowOf } from '../row.ts';

export const TASK_ACTIONS = ['cancel', 'redeliver', 'read_prompt'] as const;
const ACCOUNT_ACTIONS = ['edit', 'suspend', 'reopen'] as const;

export type TaskActionKind = (typeof TASK_ACTIONS)[number];
export type AccountActionKind = (typeof ACCOUNT_ACTIONS)[number];

/** By whom something was done, and why. */
export interface Authorship {
  /** Who. */
  readonly author: string;
  /** For other operators; never shown to clients. */
  readonly reason: string;
}

export interface NewOperatorAction extends Authorship {
  readonly taskId: string;
  readonly kind: TaskActionKind;
}

export interface OperatorAction extends NewOperatorAction {
  readonly id: string;
  readonly createdAt: Date;
}

export interface NewAccountAction extends Authorship {
  readonly accountId: string;
  readonly kind: AccountActionKind;
}

export interface AccountAction extends NewAccountAction {
  readonly id: string;
  readonly createdAt: Date;
}

type TaskActionRow = RowOf<OperatorAction>;

type AccountActionRow = RowOf<AccountAction>;

/** Records an action. A task is cancelled only once: a second cancellation writes nothing and returns the first. */
export async function recordOperatorAction(database: Database, action: NewOperatorAction): Promise<OperatorAction> {
  const [row] = await database('operator_actions')
    .insert(toRow(action))
    .onConflict(database.raw(`(task_id) WHERE kind = 'cancel'`))
    .ignore()
    .returning<TaskActionRow[]>('*');
  const recorded = row ? toAction(row) : await findCancellation(database, action.taskId);
  if (!recorded) throw new Error(`the cancellation of ${action.taskId} was neither written nor found`);
  return recorded;
}

/** Records that somebody read the prompts of these tasks. */
export async function recordPromptsRead(database: Database, taskIds: readonly string[], by: Authorship): Promise<void> {
  if (taskIds.length === 0) return;
  await database('operator_actions').insert(taskIds.map((taskId) => toRow({ taskId, kind: 'read_prompt', ...by })));
}

/** Records an action on an account. */
export async function recordAccountAction(database: Database, action: NewAccountAction): Promise<AccountAction> {
  const { accountId, kind, author, reason } = action;
  const [row] = await database('operator_actions')
    .insert({ id: newId('operatorAction'), account_id: accountId, kind, author, reason })
    .returning<AccountActionRow[]>('*');
  if (!row) throw new Error('an insert always returns its row');
  return toAccountAction(row);
}

/** The action that cancelled a task, if there is one. */
export async function findCancellation(database: Database, taskId: string): Promise<OperatorAction | null> {
  const row = await database<TaskActionRow>('operator_actions').where({ task_id: taskId, kind: 'cancel' }).first();
  return row ? toAction(row) : null;
}

/** The actions on a task, oldest first. */
export async function listOperatorActions(database: Database, taskId: string): Promise<readonly OperatorAction[]> {
  const rows = await database<TaskActionRow>('operator_actions').where({ task_id: taskId }).orderBy('created_at');
  return rows.map(toAction);
}

/** The actions on an account, oldest first. */
export async function listAccountActions(database: Database, accountId: string): Promise<readonly AccountAction[]> {
  const rows = await database<AccountActionRow>('operator_actions')
    .where({ account_id: accountId })
    .orderBy('created_at');
  return rows.map(toAccountAction);
}

function toRow({ taskId, kind, author, reason }: NewOperatorAction): Record<string, unknown> {
  return {
    id: newId('operatorAction'),
    task_id: taskId,
    task_created_at: createdAtOf(taskId),
    kind,
    author,
    reason,
  };
}

function toAction({ task_id: taskId, created_at: createdAt, ...row }: TaskActionRow): OperatorAction {
  const { id, kind, author, reason } = row;
  return { id, taskId, kind, author, reason, createdAt };
}

function toAccountAction({ account_id: accountId, created_at: createdAt, ...row }: AccountActionRow): AccountAction {
  const { id, kind, author, reason } = row;
  return { id, accountId, kind, author, reason, createdAt };
}
