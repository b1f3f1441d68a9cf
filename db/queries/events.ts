/** Inserts events that do not come from the end of a task. `finish_tasks` inserts the events of final tasks. */
import { newId } from '../../domain/ids.ts';
import { WEBHOOKS } from '../../domain/policy.ts';
import type { SubscribableEvent } from '../../domain/webhook-event.ts';
import type { Database } from '../database.ts';

export interface NewEvent {
  readonly id: string;
  readonly accountId: string;
  readonly type: SubscribableEvent;
  /** Null for an event of the account. */
  readonly taskId: string | null;
  readonly payload: string;
  readonly at: Date;
}

/** Inserts an event with its deliveries. Call this in the transaction that makes the change. */
export async function insertEvent(transaction: Database, event: NewEvent): Promise<void> {
  const { id, accountId, type, taskId, payload, at } = event;
  await transaction('events').insert({ id, account_id: accountId, type, task_id: taskId, payload, created_at: at });
  await transaction.raw(
    /* sql */ `
    INSERT INTO deliveries (id, event_id, endpoint_id, account_id, task_id, created_at, next_start_at)
    SELECT (:deliveryIds::text[])[row_number() OVER (ORDER BY id)], :id, id, account_id, :taskId, :at, now()
    FROM webhook_endpoints
    WHERE account_id = :accountId AND deleted_at IS NULL AND disabled_at IS NULL AND :type = ANY (events)`,
    {
      deliveryIds: Array.from({ length: WEBHOOKS.maxEndpoints }, () => newId('delivery')),
      id,
      taskId,
      at,
      accountId,
      type,
    },
  );
}
