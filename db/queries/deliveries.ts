/** Deliveries for clients, operators and the relay; `delivery-attempts.ts` is for the worker. */
import { isId, newId } from '../../domain/ids.ts';
import { WEBHOOKS } from '../../domain/policy.ts';
import { ENDPOINT_TEST_EVENT } from '../../domain/webhook-event.ts';
import { type Database, onlyRow } from '../database.ts';
import { createdIn, type Period } from '../period.ts';
import { ATTEMPT_LIMITS, ATTEMPT_LIMITS_JSON } from './attempt-limits.ts';
import { isDue, isDueTask } from './content.ts';
import { type IdPage, newestFirst } from '../page.ts';
import { camelCased, columnsOf, type OptionalFields, type RowOf } from '../row.ts';

export const DELIVERY_STATUSES = ['pending', 'delivered', 'failed'] as const;

export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

/** An attempt to deliver. */
export interface DeliveryAttempt {
  /** From 1. */
  readonly number: number;
  readonly startedAt: Date;
  readonly latencyMs: number;
  /** The HTTP status; null if there was no response. */
  readonly status: number | null;
  /** Why there was no valid response. */
  readonly error: string | null;
}

/** An attempt with the answer, which lists leave out. */
export interface AnsweredAttempt extends DeliveryAttempt {
  /** The start of the answer's body, at most {@link WEBHOOKS.answerBytes}. Null without a body. */
  readonly answer: string | null;
}

/** The body that a delivery sent, and the answers. */
export interface DeliveryContent {
  /** The body of each attempt. */
  readonly payload: string;
  readonly attempts: readonly AnsweredAttempt[];
}

/** The delivery of one event to one endpoint. */
export interface Delivery {
  readonly id: string;
  readonly accountId: string;
  readonly endpointId: string;
  readonly eventId: string;
  readonly eventType: string;
  /** Null for a test event. */
  readonly taskId: string | null;
  readonly status: DeliveryStatus;
  readonly attempts: readonly DeliveryAttempt[];
  /** Null if no further attempt is planned. */
  readonly nextAttemptAt: Date | null;
  readonly createdAt: Date;
  readonly completedAt: Date | null;
}

/** Only operators may omit the account. */
export interface DeliveryFilter
  extends Period, OptionalFields<Delivery, 'accountId' | 'endpointId' | 'eventId' | 'status'> {
  readonly deliveryId?: string | undefined;
  readonly taskId?: string | undefined;
}

type DeliveryRow = Omit<RowOf<Delivery>, 'attempts'> & { readonly attempts: number };

const ATTEMPT_COLUMNS = ['number', 'started_at', 'latency_ms', 'status', 'error'] as const;

type AttemptRow = RowOf<DeliveryAttempt> & { readonly delivery_id: string };

/** Deliveries with their attempts, newest first. @param before the id of the last delivery of the previous page */
export async function listDeliveries(
  database: Database,
  filter: DeliveryFilter & IdPage,
): Promise<readonly Delivery[]> {
  const query = deliveriesOf(database, filter).join('events', 'events.id', 'deliveries.event_id');
  const rows = await newestFirst(query, filter, 'deliveries.id').select<DeliveryRow[]>(
    'deliveries.*',
    'events.type as event_type',
  );
  const attempts = await attemptsOf(
    database,
    rows.map(({ id }) => id),
  );
  // Drops attempts that were recorded after the row was read, because they would contradict the row.
  return rows.map((row) => {
    const known = attempts.get(row.id)?.filter(({ number }) => number <= row.attempts);
    return toDelivery(row, known ?? []);
  });
}

/** Finds the delivery with the filter's `deliveryId`, if the rest of the filter matches. */
export async function findDelivery(
  database: Database,
  filter: DeliveryFilter & { readonly deliveryId: string },
): Promise<Delivery | null> {
  if (!isId('delivery', filter.deliveryId)) return null;
  const [delivery] = await listDeliveries(database, { ...filter, limit: 1 });
  return delivery ?? null;
}

/** Returns what a delivery of the account sent and received; null from the moment of its erasure on. */
export async function findDeliveryContent(
  database: Database,
  { id, accountId }: Pick<Delivery, 'id' | 'accountId'>,
): Promise<DeliveryContent | null> {
  const { rows } = await database.raw<{ rows: { payload: string }[] }>(
    /* sql */ `
    SELECT payload FROM deliveries
    JOIN events ON events.id = event_id
    JOIN accounts AS owner ON owner.id = deliveries.account_id
    WHERE deliveries.id = :id AND owner.id = :accountId
      AND NOT ${isDueTask('deliveries.task_id')} AND NOT ${isDue('deliveries.created_at')}`,
    { id, accountId },
  );
  if (!rows[0]) return null;
  const attempts = await database<RowOf<AnsweredAttempt>>('delivery_attempts')
    .whereIn('delivery_id', [id])
    .orderBy('number')
    .select(...ATTEMPT_COLUMNS, 'answer');
  return { payload: rows[0].payload, attempts: attempts.map(camelCased) };
}

/**
 * Makes deliveries pending again, whatever their state, for the relay to start. Skips deliveries whose endpoint is
 * disabled or deleted, and deliveries without attempts left.
 *
 * @param filter `statuses`: only deliveries with these statuses. Of pending deliveries, only those that wait for a later
 *   attempt: no others would be sent sooner. `limit`: the most deliveries, oldest first
 * @returns how many are pending again, and how many more match
 */
export async function requestRedeliveries(
  database: Database,
  filter: DeliveryFilter & { readonly statuses?: readonly DeliveryStatus[]; readonly limit: number },
): Promise<{ readonly count: number; readonly left: number }> {
  const eligible = deliveriesOf(database, filter)
    .join('webhook_endpoints', 'webhook_endpoints.id', 'deliveries.endpoint_id')
    .whereNull('webhook_endpoints.deleted_at')
    .whereNull('webhook_endpoints.disabled_at')
    .where('deliveries.attempts', '<', WEBHOOKS.maxAttempts);
  if (filter.statuses) {
    void eligible
      .whereIn('deliveries.status', filter.statuses)
      .whereRaw(
        "(deliveries.status <> 'pending' OR (workflow_started_at IS NOT NULL AND (under_way_until > now()) IS NOT TRUE))",
      );
  }
  const chosen = eligible.clone().orderBy('deliveries.id').limit(filter.limit).select('deliveries.id');
  const count = await database('deliveries')
    .whereIn('id', chosen)
    .update({
      status: 'pending',
      completed_at: null,
      next_attempt_at: database.fn.now(),
      // A running attempt still belongs to the earlier schedule.
      schedule_from: database.raw('attempts + 1 + coalesce(under_way_until > now(), false)::integer'),
      workflow_started_at: null,
      next_start_at: database.fn.now(),
    });
  if (count < filter.limit) return { count, left: 0 };
  const [rest] = await eligible.clone().count<{ count: string }[]>();
  return { count, left: Number(rest?.count ?? 0) };
}

/** Inserts a test event and its delivery to one endpoint, due at once. */
export async function insertTestDelivery(
  database: Database,
  endpoint: { readonly id: string; readonly accountId: string },
  event: { readonly id: string; readonly payload: string; readonly createdAt: Date },
): Promise<Delivery> {
  const id = newId('delivery');
  const common = { account_id: endpoint.accountId, created_at: event.createdAt };
  const type = ENDPOINT_TEST_EVENT;
  const rows = await database.transaction(async (transaction) => {
    await transaction('events').insert({ ...common, id: event.id, type, payload: event.payload });
    return transaction('deliveries')
      .insert({ ...common, id, event_id: event.id, endpoint_id: endpoint.id, next_start_at: transaction.fn.now() })
      .returning<DeliveryRow[]>('*');
  });
  return toDelivery({ ...onlyRow(rows), event_type: type }, []);
}

/** A delivery without a confirmed start of its workflow. */
export interface DeliveryToStart {
  readonly id: string;
  readonly accountId: string;
  readonly eventType: string;
  /** The number of its next attempt; above 1 for a redelivery, whose earlier workflow may still be running. */
  readonly firstAttempt: number;
  /** When the claim ends unless the delivery is marked; identifies the claim. In PostgreSQL's notation. */
  readonly claimedUntil: string;
}

/**
 * Claims due deliveries whose endpoint and account are below their limits of attempts. Other callers get other
 * deliveries. A claim ends after `retryAfterSeconds` unless the delivery is marked by then. Accounts take turns.
 */
export async function claimDeliveriesToStart(
  database: Database,
  { limit, retryAfterSeconds }: { limit: number; retryAfterSeconds: number },
): Promise<readonly DeliveryToStart[]> {
  const { rows } = await database.raw<{
    rows: (Omit<RowOf<DeliveryToStart>, 'first_attempt'> & { readonly attempts: number })[];
  }>('SELECT * FROM claim_deliveries(:limit, :retryAfterSeconds, :limits::jsonb)', {
    limit,
    retryAfterSeconds,
    limits: ATTEMPT_LIMITS_JSON,
  });
  return rows.map(({ attempts, ...row }) => ({ ...camelCased(row), firstAttempt: attempts + 1 }));
}

/**
 * Records whether Temporal started claimed deliveries. A delivery that was not started no longer counts as an attempt
 * in progress. Skips deliveries that were claimed again, requested again, or deferred by their own workflow meanwhile.
 */
export async function markDeliveriesStarted(
  database: Database,
  claimed: readonly { readonly delivery: DeliveryToStart; readonly isStarted: boolean }[],
): Promise<void> {
  await database.raw(
    /* sql */ `
    UPDATE deliveries SET workflow_started_at = CASE WHEN is_started THEN now() END,
      under_way_until = CASE WHEN is_started THEN now() + make_interval(secs => :leaseSeconds) END
    FROM unnest(:ids::text[], :claims::timestamptz[], :started::boolean[]) AS claim(id, claimed_until, is_started)
    WHERE deliveries.id = claim.id AND workflow_started_at IS NULL AND next_start_at = claimed_until`,
    {
      ids: claimed.map(({ delivery }) => delivery.id),
      claims: claimed.map(({ delivery }) => delivery.claimedUntil),
      started: claimed.map(({ isStarted }) => isStarted),
      leaseSeconds: ATTEMPT_LIMITS.leaseSeconds,
    },
  );
}

/**
 * Claims deliveries whose next attempt is overdue. After `againSeconds`, they can be claimed again if they are still
 * overdue.
 *
 * @param graceSeconds the time that a delivery's own workflow has to make a due attempt
 * @returns their ids
 */
export async function claimOverdueDeliveries(
  database: Database,
  { graceSeconds, againSeconds, limit }: { graceSeconds: number; againSeconds: number; limit: number },
): Promise<readonly string[]> {
  const { rows } = await database.raw<{ rows: { id: string }[] }>(
    /* sql */ `
    -- Materialised: as a plain subquery it could run, and lock, more than once.
    WITH overdue AS MATERIALIZED (
      SELECT id FROM deliveries WHERE status = 'pending' AND workflow_started_at IS NOT NULL
        AND coalesce(next_attempt_at, workflow_started_at) < now() - make_interval(secs => :graceSeconds)
        AND (under_way_until > now()) IS NOT TRUE AND next_start_at <= now()
      ORDER BY coalesce(next_attempt_at, workflow_started_at) LIMIT :limit FOR UPDATE SKIP LOCKED)
    UPDATE deliveries SET next_start_at = now() + make_interval(secs => :againSeconds)
    FROM overdue WHERE deliveries.id = overdue.id
    RETURNING deliveries.id`,
    { graceSeconds, againSeconds, limit },
  );
  return rows.map(({ id }) => id);
}

/** Makes the relay start a delivery with a lost workflow when it is due. @returns false if the delivery is final */
export async function restartDelivery(database: Database, deliveryId: string): Promise<boolean> {
  const restarted = await database('deliveries')
    .where({ id: deliveryId, status: 'pending' })
    .update({
      workflow_started_at: null,
      under_way_until: null,
      next_start_at: database.raw('greatest(now(), next_attempt_at)'),
    });
  return restarted === 1;
}

function deliveriesOf(database: Database, filter: DeliveryFilter) {
  const { accountId, endpointId, deliveryId: id, eventId, taskId, status } = filter;
  const given = columnsOf({ accountId, endpointId, id, eventId, taskId, status }, 'deliveries.');
  const query = database('deliveries').where(given);
  createdIn(query, filter, 'deliveries.created_at');
  return query;
}

/** Returns the attempts by delivery, in the order in which they were made. */
async function attemptsOf(
  database: Database,
  deliveryIds: readonly string[],
): Promise<ReadonlyMap<string, readonly DeliveryAttempt[]>> {
  const rows = await database<AttemptRow>('delivery_attempts')
    .whereIn('delivery_id', deliveryIds)
    .orderBy('number')
    .select('delivery_id', ...ATTEMPT_COLUMNS);
  const attempts = new Map<string, DeliveryAttempt[]>(deliveryIds.map((id) => [id, []]));
  for (const { delivery_id: id, ...attempt } of rows) attempts.get(id)?.push(camelCased(attempt));
  return attempts;
}

function toDelivery(row: DeliveryRow, attempts: readonly DeliveryAttempt[]): Delivery {
  return { ...camelCased(row), attempts };
}
