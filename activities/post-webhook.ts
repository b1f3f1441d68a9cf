/** Sends one attempt of a delivery to its receiver: contract 6. */
import { Context } from '@temporalio/activity';
import type { Clock } from '../db/database-clock.ts';
import type { AnsweredAttempt } from '../db/queries/deliveries.ts';
import type { DeliveryToAttempt } from '../db/queries/delivery-attempts.ts';
import type { Encryption } from '../db/encryption.ts';
import { afterPendingReads } from '../domain/after-pending-reads.ts';
import { WEBHOOKS } from '../domain/policy.ts';
import { toUnixSeconds } from '../domain/unix-time.ts';
import { AddressRefusedError, type GuardedClient, TimeoutError } from '../providers/guard/address-guard.ts';
import { deliveryHeaders } from '../domain/webhook-signature.ts';

/** The receiver's response to a request. */
export interface ReceiverAnswer extends Omit<AnsweredAttempt, 'number'> {
  /** Whether there was no answer in time. */
  readonly timedOut: boolean;
  /** The value of its header Retry-After. */
  readonly retryAfter: string | undefined;
}

/** @returns sends a delivery; whatever the receiver does becomes an answer, and only the worker's shutdown is thrown */
export function createPoster({
  encryption,
  client,
  clock,
}: {
  encryption: Encryption;
  client: GuardedClient;
  clock: Clock;
}): (delivery: DeliveryToAttempt) => Promise<ReceiverAnswer> {
  return async (delivery) => {
    const signal = Context.current().cancellationSignal;
    const startedAt = new Date(clock.nowMs());
    const begunAtMs = performance.now();
    const answered = (answer: Pick<ReceiverAnswer, 'status' | 'error'> & Partial<ReceiverAnswer>): ReceiverAnswer => ({
      startedAt,
      latencyMs: Math.round(performance.now() - begunAtMs),
      timedOut: false,
      retryAfter: undefined,
      answer: null,
      ...answer,
    });
    // A secret that cannot be decrypted is not the receiver's fault.
    const signed = signedHeaders(encryption, delivery, startedAt);
    try {
      const { status, headers, body } = await client.request(delivery.endpoint.url, {
        method: 'POST',
        headers: signed,
        body: delivery.event.payload,
        // Reading stops after the first bytes.
        maxBytes: Infinity,
        timeoutMs: WEBHOOKS.attemptTimeoutMs,
        redirects: 0,
        signal,
      });
      const arrived = answered({ status, error: refusalOf(status), retryAfter: headers['retry-after'] });
      return { ...arrived, answer: await readStart(body) };
    } catch (error) {
      // The worker is stopping, which says nothing about the receiver; another worker will make the attempt.
      if (signal.aborted) throw error;
      return answered({ status: null, error: describeFailure(error), timedOut: error instanceof TimeoutError });
    }
  };
}

/** While a secret is being replaced, Standard Webhooks receivers may check with either one. */
function signedHeaders(
  encryption: Encryption,
  { endpoint, event }: DeliveryToAttempt,
  now: Date,
): Record<string, string> {
  const headersWith = (encryptedSecret: Buffer): Record<string, string> =>
    deliveryHeaders({
      secret: encryption.decrypt(encryptedSecret, endpoint.id),
      messageId: event.id,
      event: event.type,
      timestampSeconds: toUnixSeconds(now),
      body: event.payload,
    });
  const headers = headersWith(endpoint.encryptedSecret);
  if (endpoint.previousEncryptedSecret === null) return headers;
  const previous = headersWith(endpoint.previousEncryptedSecret);
  return { ...headers, 'webhook-signature': `${headers['webhook-signature']} ${previous['webhook-signature']}` };
}

/**
 * Reads the start of an answer's body as text that PostgreSQL accepts. Never fails, because the status has arrived: a
 * body that breaks off or takes too long is kept as far as it came.
 */
async function readStart(body: ReadableStream<Uint8Array>): Promise<string | null> {
  const reader = body.getReader();
  const stop = (): Promise<void> => reader.cancel().catch(() => {});
  const timer = setTimeout(() => afterPendingReads(() => void stop()), WEBHOOKS.answerReadMs);
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    while (size < WEBHOOKS.answerBytes) {
      const { value, done } = await reader.read();
      if (done) break;
      chunks.push(value);
      size += value.byteLength;
    }
  } catch {
    // The start of the answer that arrived before counts.
  }
  clearTimeout(timer);
  await stop();
  const start = Buffer.concat(chunks).subarray(0, WEBHOOKS.answerBytes);
  // `stream` leaves out a character that the limit cut.
  return new TextDecoder().decode(start, { stream: true }).replaceAll('\0', '') || null;
}

/** Why an answer does not count as received; null if it does. */
function refusalOf(status: number): string | null {
  if (status >= 200 && status < 300) return null;
  if (status >= 300 && status < 400) return `HTTP ${status}: redirects are not followed`;
  return `HTTP ${status}`;
}

/** Why there was no answer, for the endpoint's owner. */
function describeFailure(error: unknown): string {
  if (error instanceof AddressRefusedError) return `address refused: ${error.message}`;
  if (error instanceof TimeoutError) return `no answer within ${WEBHOOKS.attemptTimeoutMs / 1000} s`;
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? `connection failed: ${code}` : 'connection failed';
}
