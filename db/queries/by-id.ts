/** Finds rows of any account by their ids, deleted ones included, for operators. */
import { firstIdAt } from '../../domain/ids.ts';
import type { Database } from '../database.ts';
import { periodOfRequest } from '../period.ts';
import { camelCased, readRow, type RowOf } from '../row.ts';
import type { ApiKey } from './api-keys.ts';
import type { AccountAction, BatchAction, OperatorAction } from './operator-actions.ts';
import type { Upload } from './uploads.ts';
import type { WebhookEndpoint } from './webhook-endpoints.ts';

interface Deletable {
  readonly deletedAt: Date | null;
}

interface Event {
  readonly id: string;
  readonly accountId: string;
  readonly createdAt: Date;
  readonly type: string;
  /** Null for an event that is about no task. */
  readonly taskId: string | null;
}

/** An operator's action on a task, a batch or an account. */
type Action = Omit<OperatorAction | BatchAction | AccountAction, 'taskId' | 'batchId' | 'accountId'> & {
  readonly taskId: string | null;
  readonly batchId: string | null;
  readonly accountId: string | null;
};

export async function findKeyById(database: Database, id: string) {
  const row = await database<RowOf<ApiKey>>('api_keys')
    .where({ id })
    .first(
      'account_id',
      'created_at',
      'name',
      'hint',
      'used',
      'usage_limit',
      'expires_at',
      'disabled_at',
      'deleted_at',
    );
  return row ? readRow(row, { amounts: ['used', 'usage_limit'] }) : null;
}

export async function findEndpointById(database: Database, id: string) {
  const row = await database<RowOf<WebhookEndpoint & Deletable>>('webhook_endpoints')
    .where({ id })
    .first('account_id', 'created_at', 'url', 'failing_since', 'disabled_at', 'disabled_reason', 'deleted_at');
  return row ? camelCased(row) : null;
}

export async function findEventById(database: Database, id: string) {
  const row = await database<RowOf<Event>>('events').where({ id }).first('account_id', 'created_at', 'type', 'task_id');
  return row ? camelCased(row) : null;
}

export async function findUploadById(database: Database, id: string) {
  const row = await database<RowOf<Upload & Deletable & { readonly storedAt: Date | null }, 'bytes'>>('uploads')
    .where({ id })
    .first('account_id', 'created_at', 'filename', 'mime_type', 'bytes', 'stored_at', 'used_at', 'deleted_at');
  return row ? readRow(row, { counts: ['bytes'] }) : null;
}

export async function findActionById(database: Database, id: string) {
  const row = await database<RowOf<Action>>('operator_actions')
    .where({ id })
    .first('account_id', 'task_id', 'batch_id', 'kind', 'author', 'reason');
  return row ? camelCased(row) : null;
}

/**
 * Finds the task, batch or text request that a request created. Requests have neither rows nor an index: the time in the id
 * bounds the search.
 *
 * @param requestId `req_…`
 * @returns the id of the task, batch or text request; null if the request was refused or only read
 */
export async function findCreatedByRequest(database: Database, requestId: string): Promise<string | null> {
  const { from, to } = periodOfRequest(requestId);
  const { rows } = await database.raw<{ rows: { id: string }[] }>(
    /* sql */ `
    SELECT id FROM tasks WHERE request_id = :requestId AND id >= :firstTask AND id < :lastTask
      AND created_at >= :from AND created_at < :to
    UNION ALL
    SELECT id FROM batches WHERE request_id = :requestId AND id >= :firstBatch AND id < :lastBatch
    UNION ALL
    SELECT id FROM text_requests WHERE request_id = :requestId AND id >= :firstText AND id < :lastText
      AND created_at >= :from AND created_at < :to`,
    {
      requestId,
      firstTask: firstIdAt('task', from.getTime()),
      lastTask: firstIdAt('task', to.getTime()),
      firstBatch: firstIdAt('batch', from.getTime()),
      lastBatch: firstIdAt('batch', to.getTime()),
      firstText: firstIdAt('textRequest', from.getTime()),
      lastText: firstIdAt('textRequest', to.getTime()),
      from,
      to,
    },
  );
  return rows[0]?.id ?? null;
}
