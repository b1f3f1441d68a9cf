/** The worker's statements for each delivery attempt: one before the attempt and one after. */
import type { Database } from '../database.ts';
import { ATTEMPT_LIMITS_JSON } from './attempt-limits.ts';
import { columnsOf, type RowOf } from '../row.ts';
import type { AnsweredAttempt, DeliveryStatus } from './deliveries.ts';

/** The state of a delivery. */
export interface DeliveryState {
  readonly status: DeliveryStatus;
  /** The number of attempts so far. */
  readonly attempts: number;
  readonly nextAttemptAt: Date | null;
}

/** The content and destination of an attempt. */
export interface DeliveryToAttempt {
  /** The position of the attempt in the schedule, from 1. A redelivery restarts the schedule. */
  readonly scheduled: number;
  readonly event: { readonly id: string; readonly type: string; readonly payload: string };
  readonly endpoint: {
    readonly id: string;
    readonly url: string;
    readonly encryptedSecret: Buffer;
    /** The previous secret, while it still signs deliveries. */
    readonly previousEncryptedSecret: Buffer | null;
  };
}

/** Whether an attempt may be made now. */
export type Admission =
  | { readonly verdict: 'admitted'; readonly state: DeliveryState; readonly delivery: DeliveryToAttempt }
  | {
      readonly verdict:
        /** The attempt was made before. */
        | 'recorded'
        /** The endpoint is disabled or deleted, so the delivery has failed. */
        | 'inactive'
        /** The delay before the first attempt has not passed. */
        | 'not due'
        /** The endpoint or its account has reached its limit of concurrent attempts. The relay retries later. */
        | 'deferred';
      readonly state: DeliveryState;
    };

/** The outcome of an attempt. */
export type AttemptOutcome =
  | { readonly delivered: true }
  | {
      readonly delivered: false;
      /** The receiver did not answer in time. */
      readonly timedOut: boolean;
      /** Null at the end of the schedule. */
      readonly nextAttemptAt: Date | null;
      /** If set, disables the endpoint at once with this reason. */
      readonly disabledReason: string | null;
    };

type StateRow = RowOf<DeliveryState>;

interface AdmissionRow extends StateRow {
  verdict: Admission['verdict'];
  scheduled: number;
  event_id: string;
  event_type: string;
  payload: string;
  endpoint_id: string;
  url: string;
  encrypted_secret: Buffer;
  previous_encrypted_secret: Buffer | null;
}

/**
 * Requests permission to make an attempt, and records that the delivery has a workflow. An admitted attempt counts as
 * running until {@link recordAttempt}.
 *
 * @param attempt `firstDelaySeconds`: the delay from the creation of a delivery to its first attempt
 * @returns null if there is no such delivery
 */
export async function startAttempt(
  database: Database,
  deliveryId: string,
  { number, firstDelaySeconds = 0 }: { readonly number: number; readonly firstDelaySeconds?: number },
): Promise<Admission | null> {
  const { rows } = await database.raw<{ rows: AdmissionRow[] }>(
    'SELECT * FROM admit_attempt(:deliveryId, :number, :firstDelaySeconds, :limits::jsonb)',
    { deliveryId, number, firstDelaySeconds, limits: ATTEMPT_LIMITS_JSON },
  );
  const row = rows[0];
  if (!row) return null;
  const state = toState(row);
  return row.verdict === 'admitted'
    ? { verdict: row.verdict, state, delivery: toDelivery(row) }
    : { verdict: row.verdict, state };
}

/**
 * Records an attempt and its consequences for the delivery and its endpoint. Recording the same number again changes
 * nothing.
 *
 * @returns the state of the delivery
 */
export async function recordAttempt(
  database: Database,
  deliveryId: string,
  attempt: AnsweredAttempt,
  outcome: AttemptOutcome,
): Promise<DeliveryState> {
  const made = {
    ...columnsOf(attempt),
    ...(outcome.delivered
      ? { outcome: 'delivered' }
      : {
          outcome: outcome.timedOut ? 'timed out' : 'failed',
          next_attempt_at: outcome.nextAttemptAt,
          disabled_reason: outcome.disabledReason,
        }),
  };
  const { rows } = await database.raw<{ rows: StateRow[] }>(
    'SELECT * FROM record_attempt(:deliveryId, :made::jsonb, :limits::jsonb)',
    { deliveryId, made: JSON.stringify(made), limits: ATTEMPT_LIMITS_JSON },
  );
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
      encryptedSecret: row.encrypted_secret,
      previousEncryptedSecret: row.previous_encrypted_secret,
    },
  };
}

function toState({ status, attempts, next_attempt_at: nextAttemptAt }: StateRow): DeliveryState {
  return { status, attempts, nextAttemptAt };
}
