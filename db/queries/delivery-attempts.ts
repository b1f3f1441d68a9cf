/** What the worker reads and writes for each attempt of a delivery. */
import type { Database } from '../database.ts';
import type { DeliveryAttempt, DeliveryStatus } from './deliveries.ts';

/** How a delivery stands. */
export interface DeliveryState {
  readonly status: DeliveryStatus;
  /** Made so far. */
  readonly attempts: number;
  readonly nextAttemptAt: Date | null;
}

/** All that an attempt needs. */
export interface DeliveryToAttempt extends DeliveryState {
  readonly createdAt: Date;
  readonly event: { readonly id: string; readonly type: string; readonly payload: string };
  readonly endpoint: {
    readonly id: string;
    readonly url: string;
    readonly sealedSecret: Buffer;
    /** The secret before, while it is still in force. */
    readonly previousSealedSecret: Buffer | null;
    /** False once it was disabled or deleted. */
    readonly isActive: boolean;
  };
}

/** What an attempt came to. */
export type AttemptOutcome =
  | { readonly delivered: true }
  | {
      readonly delivered: false;
      /** Null when the schedule has ended. */
      readonly nextAttemptAt: Date | null;
      /** Disables the endpoint at once, for this reason. */
      readonly disabledReason: string | null;
    };

interface StateRow {
  status: DeliveryStatus;
  attempts: number;
  next_attempt_at: Date | null;
}

interface DeliveryRow extends StateRow {
  created_at: Date;
  event_id: string;
  event_type: string;
  payload: string;
  endpoint_id: string;
  url: string;
  sealed_secret: Buffer;
  previous_sealed_secret: Buffer | null;
  is_active: boolean;
}

/** An endpoint whose attempts have failed for so long without one success is disabled. */
const FAILING_DAYS = 5;

/** Loads a delivery for its workflow, and records that it has one. @returns null when there is no such delivery */
export async function loadDelivery(database: Database, deliveryId: string): Promise<DeliveryToAttempt | null> {
  await database('deliveries')
    .where({ id: deliveryId })
    .whereNull('workflow_started_at')
    .update({ workflow_started_at: database.fn.now() });
  const { rows } = await database.raw<{ rows: DeliveryRow[] }>(
    /* sql */ `
    SELECT deliveries.status, deliveries.attempts, deliveries.next_attempt_at, deliveries.created_at, deliveries.event_id,
      events.type AS event_type, events.payload, deliveries.endpoint_id, endpoints.url, endpoints.sealed_secret,
      CASE WHEN endpoints.previous_secret_until > now() THEN endpoints.previous_sealed_secret END
        AS previous_sealed_secret,
      endpoints.deleted_at IS NULL AND endpoints.disabled_at IS NULL AS is_active
    FROM deliveries JOIN events ON events.id = deliveries.event_id
      JOIN webhook_endpoints AS endpoints ON endpoints.id = deliveries.endpoint_id
    WHERE deliveries.id = ?`,
    [deliveryId],
  );
  return rows[0] ? toDelivery(rows[0]) : null;
}

/**
 * Records an attempt and what follows from it for the delivery and its endpoint, in one transaction. The same number again
 * changes nothing.
 *
 * @returns how the delivery stands now
 */
export async function recordAttempt(
  database: Database,
  delivery: { readonly id: string; readonly endpointId: string },
  attempt: DeliveryAttempt,
  outcome: AttemptOutcome,
): Promise<DeliveryState> {
  return database.transaction(async (transaction) => {
    const inserted = await transaction('delivery_attempts')
      .insert({
        delivery_id: delivery.id,
        number: attempt.number,
        started_at: attempt.startedAt,
        latency_ms: attempt.latencyMs,
        status: attempt.status,
        error: attempt.error,
      })
      .onConflict()
      .ignore()
      .returning<{ number: number }[]>('number');
    if (inserted.length === 0) return stateOf(transaction, delivery.id);

    if (outcome.delivered) {
      await clearFailures(transaction, delivery.endpointId);
      return advance(transaction, delivery.id, attempt.number, 'delivered', null);
    }
    const disabled = await countFailure(transaction, delivery.endpointId, outcome.disabledReason);
    const nextAttemptAt = disabled ? null : outcome.nextAttemptAt;
    const goesOn = nextAttemptAt !== null || (await isAskedForAgain(transaction, delivery.id));
    return advance(transaction, delivery.id, attempt.number, goesOn ? 'pending' : 'failed', nextAttemptAt);
  });
}

/** Ends a delivery without an attempt, because its endpoint takes nothing any more. */
export async function abandonDelivery(database: Database, deliveryId: string): Promise<void> {
  await database('deliveries')
    .where({ id: deliveryId, status: 'pending' })
    .update({ status: 'failed', next_attempt_at: null, completed_at: database.fn.now() });
}

async function stateOf(transaction: Database, deliveryId: string): Promise<DeliveryState> {
  const [row] = await transaction('deliveries').where({ id: deliveryId }).select<StateRow[]>('*');
  if (!row) throw new Error(`there is no delivery ${deliveryId}`);
  return toState(row);
}

/** Whether a redelivery was asked for while the attempt was under way: its workflow has begun, yet it is to be started. */
async function isAskedForAgain(transaction: Database, deliveryId: string): Promise<boolean> {
  const rows = await transaction('deliveries')
    .where({ id: deliveryId })
    .whereNull('workflow_started_at')
    .forUpdate()
    .select('id');
  return rows.length > 0;
}

async function advance(
  transaction: Database,
  deliveryId: string,
  attempts: number,
  status: DeliveryStatus,
  nextAttemptAt: Date | null,
): Promise<DeliveryState> {
  await transaction('deliveries')
    .where({ id: deliveryId })
    .update({
      status,
      attempts,
      next_attempt_at: nextAttemptAt,
      completed_at: status === 'pending' ? null : transaction.fn.now(),
    });
  return { status, attempts, nextAttemptAt };
}

/** Writes only when there is something to forget: every delivery of an endpoint passes here. */
async function clearFailures(transaction: Database, endpointId: string): Promise<void> {
  await transaction('webhook_endpoints')
    .where({ id: endpointId })
    .whereNotNull('failing_since')
    .update({ failing_since: null });
}

/** @returns whether the endpoint takes nothing any more */
async function countFailure(transaction: Database, endpointId: string, reason: string | null): Promise<boolean> {
  const endpoint = transaction('webhook_endpoints').where({ id: endpointId });
  await endpoint.clone().whereNull('failing_since').update({ failing_since: transaction.fn.now() });
  const failing = endpoint.clone().whereNull('disabled_at');
  if (reason === null) void failing.whereRaw('failing_since <= now() - make_interval(days => ?)', [FAILING_DAYS]);
  const disabled = await failing.update({
    disabled_at: transaction.fn.now(),
    disabled_reason: reason ?? `every attempt has failed for ${FAILING_DAYS} days`,
  });
  return disabled > 0;
}

function toDelivery(row: DeliveryRow): DeliveryToAttempt {
  return {
    ...toState(row),
    createdAt: row.created_at,
    event: { id: row.event_id, type: row.event_type, payload: row.payload },
    endpoint: {
      id: row.endpoint_id,
      url: row.url,
      sealedSecret: row.sealed_secret,
      previousSealedSecret: row.previous_sealed_secret,
      isActive: row.is_active,
    },
  };
}

function toState(row: StateRow): DeliveryState {
  return { status: row.status, attempts: row.attempts, nextAttemptAt: row.next_attempt_at };
}
