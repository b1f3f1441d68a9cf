/**
 * One attempt to deliver an event to a webhook endpoint: specification section 6. Each attempt is signed with the time at
 * which it is made, because receivers refuse old timestamps, and checks anew where the endpoint's address leads.
 */
import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import type { Database } from '../db/database.ts';
import { type Clock, MACHINE_CLOCK } from '../db/database-clock.ts';
import type { DeliveryStatus } from '../db/queries/deliveries.ts';
import {
  type AttemptOutcome,
  beginAttempt,
  type DeliveryState,
  type DeliveryToAttempt,
  recordAttempt,
} from '../db/queries/delivery-attempts.ts';
import type { Sealer } from '../db/sealing.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { AddressRefusedError, type GuardedClient, TimeoutError } from '../net/address-guard.ts';
import { delayBeforeAttemptMs, parseRetryAfter } from '../domain/retry-schedule.ts';
import { WEBHOOKS } from '../domain/policy.ts';
import { deliveryHeaders } from '../net/webhook-signature.ts';

export interface WebhookDeliveryDependencies {
  readonly database: Database;
  readonly sealer: Sealer;
  readonly client: GuardedClient;
  /** The wait before each attempt; as many attempts as numbers. */
  readonly scheduleMs: readonly number[];
  readonly metrics: Metrics;
  /** By which attempts are signed and planned; receivers refuse what is signed at another time than theirs. */
  readonly clock?: Clock;
}

export interface AttemptRequest {
  readonly deliveryId: string;
  /** Counts all attempts of the delivery, from 1. */
  readonly number: number;
}

/** How the delivery stands, and what is to happen next. */
export interface AttemptResult {
  /** `deferred`: there was no room for the attempt, and the relay will come back to the delivery. */
  readonly status: DeliveryStatus | 'deferred';
  /** Made so far. */
  readonly attempts: number;
  /** Until the next attempt; 0 when there is none. */
  readonly delayMs: number;
  /** What came of it, for operators. */
  readonly detail: string;
}

/** What the receiver made of a request. */
interface Answer {
  readonly startedAt: Date;
  readonly latencyMs: number;
  readonly status: number | null;
  readonly error: string | null;
  /** There was none in time. */
  readonly timedOut: boolean;
  /** As the receiver wrote it. */
  readonly retryAfter: string | undefined;
}

export type WebhookDeliveryActivities = ReturnType<typeof createWebhookDeliveryActivities>;

const GONE = 410;

/** Why there was no attempt. */
const DETAILS = {
  recorded: 'recorded before',
  inactive: 'the endpoint takes no events',
  'not due': 'not due yet',
  deferred: 'the endpoint or its account has as many attempts under way as it may',
} as const;

export function createWebhookDeliveryActivities({
  database,
  sealer,
  client,
  scheduleMs,
  metrics,
  clock = MACHINE_CLOCK,
}: WebhookDeliveryDependencies) {
  const scheduleSeconds = scheduleMs.map((delayMs) => delayMs / 1000);

  return {
    /**
     * Makes an attempt, if it is admitted, and records it. The same number again makes none, once it is recorded; a crash
     * between the answer of the receiver and the record sends the event twice, under the same id.
     */
    async attemptDelivery({ deliveryId, number }: AttemptRequest): Promise<AttemptResult> {
      const admission = await beginAttempt(database, deliveryId, {
        number,
        firstDelaySeconds: scheduleSeconds[0] ?? 0,
      });
      if (!admission) throw ApplicationFailure.nonRetryable(`there is no delivery ${deliveryId}`, 'DeliveryMissing');
      if (admission.verdict === 'deferred')
        return { ...toResult(admission.state, DETAILS.deferred), status: 'deferred' };
      if (admission.verdict !== 'admitted') return toResult(admission.state, DETAILS[admission.verdict]);

      const { delivery } = admission;
      const answer = await post(delivery);
      const { startedAt, latencyMs, status, error } = answer;
      const attempt = { number, startedAt, latencyMs, status, error };
      const state = await recordAttempt(database, deliveryId, attempt, outcomeOf(answer, delivery.scheduled));
      metrics.deliveryAttempted(state.status);
      return toResult(state, error ?? `HTTP ${status}`);
    },
  };

  async function post(delivery: DeliveryToAttempt): Promise<Answer> {
    const signal = Context.current().cancellationSignal;
    const startedAt = new Date(clock.nowMs());
    const begunAtMs = performance.now();
    const answered = (answer: Pick<Answer, 'status' | 'error'> & Partial<Answer>): Answer => ({
      startedAt,
      latencyMs: Math.round(performance.now() - begunAtMs),
      timedOut: false,
      retryAfter: undefined,
      ...answer,
    });
    try {
      const { status, headers, body } = await client.request(delivery.endpoint.url, {
        method: 'POST',
        headers: signedHeaders(delivery, startedAt),
        body: delivery.event.payload,
        // The status is all that counts; what else the receiver says is neither read nor kept.
        maxBytes: 0,
        timeoutMs: WEBHOOKS.attemptTimeoutMs,
        redirects: 0,
        signal,
      });
      await body.cancel();
      return answered({ status, error: refusalOf(status), retryAfter: headers['retry-after'] });
    } catch (error) {
      // This worker is stopping: no verdict on the receiver; another worker makes the attempt.
      if (signal.aborted) throw error;
      return answered({ status: null, error: describeFailure(error), timedOut: error instanceof TimeoutError });
    }
  }

  /** While a secret is being replaced, Standard Webhooks receivers may check with the old one or the new one. */
  function signedHeaders({ endpoint, event }: DeliveryToAttempt, now: Date): Record<string, string> {
    const headersWith = (sealedSecret: Buffer): Record<string, string> =>
      deliveryHeaders({
        secret: sealer.open(sealedSecret, endpoint.id),
        messageId: event.id,
        event: event.type,
        timestampSeconds: Math.floor(now.getTime() / 1000),
        body: event.payload,
      });
    const headers = headersWith(endpoint.sealedSecret);
    if (endpoint.previousSealedSecret === null) return headers;
    const previous = headersWith(endpoint.previousSealedSecret);
    return { ...headers, 'webhook-signature': `${headers['webhook-signature']} ${previous['webhook-signature']}` };
  }

  function outcomeOf({ status, error, timedOut, retryAfter }: Answer, scheduled: number): AttemptOutcome {
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

/** Why an answer does not count as received; null when it does. */
function refusalOf(status: number): string | null {
  if (status >= 200 && status < 300) return null;
  if (status >= 300 && status < 400) return `HTTP ${status}: redirects are not followed`;
  return `HTTP ${status}`;
}

/** Why there was no answer, in words that the endpoint's owner may read. */
function describeFailure(error: unknown): string {
  if (error instanceof AddressRefusedError) return `address refused: ${error.message}`;
  if (error instanceof TimeoutError) return `no answer within ${WEBHOOKS.attemptTimeoutMs / 1000} s`;
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? `connection failed: ${code}` : 'connection failed';
}
