/** The log of operators' actions on tasks, batches, accounts and registrations, including reading prompts. */
import { newId } from '../../domain/ids.ts';
import type { PicoUsd } from '../../domain/money.ts';
import type { Database } from '../database.ts';
import { createdAtOf } from './tasks.ts';
import { camelCased, readRow, type RowOf } from '../row.ts';

export const TASK_ACTIONS = ['cancel', 'redeliver', 'read_prompt'] as const;
export const ACCOUNT_ACTIONS = ['edit', 'price', 'suspend', 'reopen', 'erase', 'close', 'merge'] as const;

export const BATCH_ACTIONS = ['cancel', 'pause', 'resume', 'retry'] as const;

const REGISTRATION_ACTIONS = ['approve', 'reject', 'block', 'lift'] as const;

export type RegistrationActionKind = (typeof REGISTRATION_ACTIONS)[number];
export type BatchActionKind = (typeof BATCH_ACTIONS)[number];
export type TaskActionKind = (typeof TASK_ACTIONS)[number];
export type AccountActionKind = (typeof ACCOUNT_ACTIONS)[number];

/** The author of an action, and the reason. */
export interface Authorship {
  readonly author: string;
  /** For other operators; never shown to clients. */
  readonly reason: string;
}

interface Action<Kind> extends Authorship {
  readonly id: string;
  readonly kind: Kind;
  readonly createdAt: Date;
}

export interface OperatorAction extends Action<TaskActionKind> {
  readonly taskId: string;
}

export interface AccountAction extends Action<AccountActionKind> {
  readonly accountId: string;
}

export interface BatchAction extends Action<BatchActionKind> {
  readonly batchId: string;
}

/** An action on an account, or a manual adjustment of its balance. */
export interface ListedAccountAction extends Action<AccountActionKind | 'adjustment'> {
  /** The amount that an adjustment gave to the account; negative if it took money. Null for other actions. */
  readonly amount: PicoUsd | null;
}

export type NewOperatorAction = Omit<OperatorAction, 'id' | 'createdAt'>;

/** Records an action. A task is cancelled only once: a second cancellation changes nothing and returns the first. */
export async function recordOperatorAction(database: Database, action: NewOperatorAction): Promise<OperatorAction> {
  const [row] = await database('operator_actions')
    .insert(toRow(action))
    .onConflict(database.raw(`(task_id) WHERE kind = 'cancel'`))
    .ignore()
    .returning<RowOf<OperatorAction>[]>('*');
  const recorded = row ? camelCased(row) : await findCancellation(database, action.taskId);
  if (!recorded) throw new Error(`the cancellation of ${action.taskId} was neither written nor found`);
  return recorded;
}

/** Records that somebody read the prompts of these tasks. */
export async function recordPromptsRead(database: Database, taskIds: readonly string[], by: Authorship): Promise<void> {
  if (taskIds.length === 0) return;
  await database('operator_actions').insert(taskIds.map((taskId) => toRow({ taskId, kind: 'read_prompt', ...by })));
}

/** Records an action on an account. */
export async function recordAccountAction(
  database: Database,
  { accountId, kind, author, reason }: Omit<AccountAction, 'id' | 'createdAt'>,
): Promise<void> {
  const id = newId('operatorAction');
  await database('operator_actions').insert({ id, account_id: accountId, kind, author, reason });
}

/** Records an action on a batch. */
export async function recordBatchAction(
  database: Database,
  { batchId, kind, author, reason }: Omit<BatchAction, 'id' | 'createdAt'>,
): Promise<void> {
  const id = newId('operatorAction');
  await database('operator_actions').insert({ id, batch_id: batchId, kind, author, reason });
}

/** Records an action on a registration or a block of registrations. */
export async function recordRegistrationAction(
  database: Database,
  {
    registrationId,
    kind,
    author,
    reason,
  }: Authorship & {
    readonly registrationId: string;
    readonly kind: RegistrationActionKind;
  },
): Promise<void> {
  const id = newId('operatorAction');
  await database('operator_actions').insert({ id, registration_id: registrationId, kind, author, reason });
}

/** The actions on a batch, oldest first. */
export async function listBatchActions(database: Database, batchId: string): Promise<readonly BatchAction[]> {
  const query = database<RowOf<BatchAction>>('operator_actions').where({ batch_id: batchId });
  return (await query.orderBy('created_at')).map(camelCased);
}

/** Finds the action that cancelled a task. */
export async function findCancellation(database: Database, taskId: string): Promise<OperatorAction | null> {
  const row = await database<RowOf<OperatorAction>>('operator_actions')
    .where({ task_id: taskId, kind: 'cancel' })
    .first();
  return row ? camelCased(row) : null;
}

/** The actions on a task, oldest first. */
export async function listOperatorActions(database: Database, taskId: string): Promise<readonly OperatorAction[]> {
  const query = database<RowOf<OperatorAction>>('operator_actions').where({ task_id: taskId });
  return (await query.orderBy('created_at')).map(camelCased);
}

/** The latest actions on an account and manual adjustments of its balance, oldest first. */
export async function listAccountActions(
  database: Database,
  accountId: string,
  limit: number,
): Promise<readonly ListedAccountAction[]> {
  const { rows } = await database.raw<{ rows: RowOf<ListedAccountAction>[] }>(
    /* sql */ `
    SELECT id, kind, author, reason, created_at, NULL AS amount FROM operator_actions WHERE account_id = :accountId
    UNION ALL
    SELECT id, kind, author, reason, created_at, CASE credit WHEN 'available' THEN amount ELSE -amount END
    FROM transfers WHERE account_id = :accountId AND kind = 'adjustment'
    ORDER BY created_at DESC, id DESC LIMIT :limit`,
    { accountId, limit },
  );
  return rows.toReversed().map((row) => readRow(row, { amounts: ['amount'] }));
}

function toRow({ taskId, kind, author, reason }: NewOperatorAction): Record<string, unknown> {
  const id = newId('operatorAction');
  return { id, task_id: taskId, task_created_at: createdAtOf(taskId), kind, author, reason };
}
