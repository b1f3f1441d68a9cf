/** What the worker reads and writes for each attempt of a delivery: one statement before it, and one after it. */
import type { Database } from '../database.ts';
import { ATTEMPT_LIMITS_JSON } from './attempt-limits.ts';
import type { DeliveryAttempt, DeliveryStatus } from './deliveries.ts';

/** How a delivery stands. */
export interface DeliveryState {
  readonly status: DeliveryStatus;
  /** Made so far. */
  readonly attempts: number;
  readonly nextAttemptAt: Date | null;
}

/** What is to be sent, and where to. */
export interface DeliveryToAttempt {
  /** This attempt's place in the schedule, from 1; a redelivery begins the schedule anew. */
  readonly scheduled: number;
  readonly event: { readonly id: string; readonly type: string; readonly payload: string };
  readonly endpoint: {
    readonly id: string;
    readonly url: string;
    readonly sealedSecret: Buffer;
    /** The secret before, while it is still in force. */
    readonly previousSealedSecret: Buffer | null;
  };
}

/** Whether an attempt may be made now. */
export type Admission =
  | { readonly verdict: 'admitted'; readonly state: DeliveryState; readonly delivery: DeliveryToAttempt }
  | {
      readonly verdict:
        /** It was made before. */
        | 'recorded'
        /** The endpoint is disabled or deleted, so the delivery has failed. */
        | 'inactive'
        /** The first attempt has a delay that has not passed. */
        | 'not due'
        /** The endpoint or its account has as many attempts under way as it may: the relay comes back to the delivery. */
        | 'deferred';
      readonly state: DeliveryState;
    };

/** What an attempt came to. */
export type AttemptOutcome =
  | { readonly delivered: true }
  | {
      readonly delivered: false;
      /** The receiver did not answer in time. */
      readonly timedOut: boolean;
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

interface AdmissionRow extends StateRow {
  verdict: Admission['verdict'];
  scheduled: number;
  event_id: string;
  event_type: string;
  payload: string;
  endpoint_id: string;
  url: string;
  sealed_secret: Buffer;
  previous_sealed_secret: Buffer | null;
}

/**
 * Asks for an attempt, and records that the delivery has a workflow. What was admitted counts as under way until
 * {@link recordAttempt}.
 *
 * @param attempt `firstDelaySeconds` from the creation of a delivery to its first attempt
 * @returns null when there is no such delivery
 */
export async function beginAttempt(
  database: Database,
  deliveryId: string,
  { number, firstDelaySeconds = 0 }: { readonly number: number; readonly firstDelaySeconds?: number },
): Promise<Admission | null> {
  const { rows } = await database.raw<{ rows: AdmissionRow[] }>('SELECT * FROM begin_attempt(?, ?, ?, ?::jsonb)', [
    deliveryId,
    number,
    firstDelaySeconds,
    ATTEMPT_LIMITS_JSON,
  ]);
  const row = rows[0];
  if (!row) return null;
  const state = toState(row);
  return row.verdict === 'admitted'
    ? { verdict: row.verdict, state, delivery: toDelivery(row) }
    : { verdict: row.verdict, state };
}

/**
 * Records an attempt and what follows from it for the delivery and its endpoint. The same number again changes nothing.
 *
 * @returns how the delivery stands now
 */
export async function recordAttempt(
  database: Database,
  deliveryId: string,
  attempt: DeliveryAttempt,
  outcome: AttemptOutcome,
): Promise<DeliveryState> {
  const made = {
    number: attempt.number,
    started_at: attempt.startedAt,
    latency_ms: attempt.latencyMs,
    status: attempt.status,
    error: attempt.error,
    ...(outcome.delivered
      ? { outcome: 'delivered' }
      : {
          outcome: outcome.timedOut ? 'timed out' : 'failed',
          next_attempt_at: outcome.nextAttemptAt,
          disabled_reason: outcome.disabledReason,
        }),
  };
  const { rows } = await database.raw<{ rows: StateRow[] }>('SELECT * FROM end_attempt(?, ?::jsonb, ?::jsonb)', [
    deliveryId,
    JSON.stringify(made),
    ATTEMPT_LIMITS_JSON,
  ]);
  if (!rows[0]) throw new Error(`there is no delivery ${deliveryId}`);
  return toState(rows[0]);
}

function toDelivery(row: AdmissionRow): DeliveryToAttempt {
  return {
    scheduled: row.scheduled,
    event: { id: row.event_id, type: row.event_type, payload: row.payload },
    endpoint: {
      id: row.endpoint_id,
      url: row.url,
      sealedSecret: row.sealed_secret,
      previousSealedSecret: row.previous_sealed_secret,
    },
  };
}

function toState(row: StateRow): DeliveryState {
  return { status: row.status, attempts: row.attempts, nextAttemptAt: row.next_attempt_at };
}
