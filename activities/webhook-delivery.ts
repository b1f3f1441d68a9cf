/**
 * One attempt to deliver an event to a webhook endpoint: contract 6. Each attempt is signed with its own time, because
 * receivers refuse old timestamps, and checks again where the endpoint's address leads.
 */
import { ApplicationFailure } from '@temporalio/common';
import type { Database } from '../db/database.ts';
import { type Clock, MACHINE_CLOCK } from '../db/database-clock.ts';
import type { DeliveryStatus } from '../db/queries/deliveries.ts';
import {
  type AttemptOutcome,
  startAttempt,
  type DeliveryState,
  recordAttempt,
} from '../db/queries/delivery-attempts.ts';
import type { Encryption } from '../db/encryption.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { GuardedClient } from '../providers/guard/address-guard.ts';
import { delayBeforeAttemptMs, parseRetryAfter } from '../domain/retry-schedule.ts';
import { WEBHOOKS } from '../domain/policy.ts';
import { createPoster, type ReceiverAnswer } from './post-webhook.ts';

export interface WebhookDeliveryDependencies {
  readonly database: Database;
  readonly encryption: Encryption;
  readonly client: GuardedClient;
  /** The wait before each attempt; there are as many attempts as numbers. */
  readonly scheduleMs: readonly number[];
  readonly metrics: Metrics;
  /** Dates signatures and plans attempts; receivers refuse signatures whose time differs from theirs. */
  readonly clock?: Clock;
}

export interface AttemptRequest {
  readonly deliveryId: string;
  /** Counts all attempts of the delivery, from 1. */
  readonly number: number;
}

/** The state of the delivery, and what happens next. */
export interface AttemptResult {
  /** `deferred`: there was no room for the attempt, and the relay will return to the delivery. */
  readonly status: DeliveryStatus | 'deferred';
  /** The attempts made so far. */
  readonly attempts: number;
  /** Milliseconds until the next attempt; 0 if there is none. */
  readonly delayMs: number;
  /** The outcome, for operators. */
  readonly detail: string;
}

export type WebhookDeliveryActivities = ReturnType<typeof createWebhookDeliveryActivities>;

const GONE = 410;

/** Why there was no attempt. */
const DETAILS = {
  recorded: 'recorded before',
  inactive: 'the endpoint accepts no events',
  'not due': 'not due yet',
  deferred: 'the endpoint or its account has reached its limit of concurrent attempts',
} as const;

export function createWebhookDeliveryActivities({
  database,
  encryption,
  client,
  scheduleMs,
  metrics,
  clock = MACHINE_CLOCK,
}: WebhookDeliveryDependencies) {
  const scheduleSeconds = scheduleMs.map((delayMs) => delayMs / 1000);
  const post = createPoster({ encryption, client, clock });

  return {
    /**
     * Makes an attempt, if it is admitted, and records it. A number that is already recorded makes no further attempt.
     * A crash between the receiver's answer and the record sends the event twice, under the same id.
     */
    async attemptDelivery({ deliveryId, number }: AttemptRequest): Promise<AttemptResult> {
      const admission = await startAttempt(database, deliveryId, {
        number,
        firstDelaySeconds: scheduleSeconds[0] ?? 0,
      });
      if (!admission) throw ApplicationFailure.nonRetryable(`there is no delivery ${deliveryId}`, 'DeliveryMissing');
      if (admission.verdict === 'deferred')
        return { ...toResult(admission.state, DETAILS.deferred), status: 'deferred' };
      if (admission.verdict !== 'admitted') return toResult(admission.state, DETAILS[admission.verdict]);

      const { delivery } = admission;
      const answered = await post(delivery);
      const { startedAt, latencyMs, status, error, answer } = answered;
      const attempt = { number, startedAt, latencyMs, status, error, answer };
      const state = await recordAttempt(database, deliveryId, attempt, outcomeOf(answered, delivery.scheduled));
      metrics.deliveryAttempted(state.status);
      return toResult(state, error ?? `HTTP ${status}`);
    },
  };

  function outcomeOf({ status, error, timedOut, retryAfter }: ReceiverAnswer, scheduled: number): AttemptOutcome {
    if (error === null) return { delivered: true };
    if (status === GONE) {
      return { delivered: false, timedOut, nextAttemptAt: null, disabledReason: 'the receiver answered 410 Gone' };
    }
    const now = clock.nowMs();
    const delayMs = delayBeforeAttemptMs(scheduled + 1, {
      scheduleSeconds,
      random: Math.random(),
      retryAfterSeconds: parseRetryAfter(retryAfter, now, WEBHOOKS.maxRetryAfterSeconds),
    });
    return {
      delivered: false,
      timedOut,
      nextAttemptAt: delayMs === null ? null : new Date(now + delayMs),
      disabledReason: null,
    };
  }

  function toResult({ status, attempts, nextAttemptAt }: DeliveryState, detail: string): AttemptResult {
    const delayMs = status === 'pending' && nextAttemptAt ? Math.max(nextAttemptAt.getTime() - clock.nowMs(), 0) : 0;
    return { status, attempts, delayMs, detail };
  }
}
