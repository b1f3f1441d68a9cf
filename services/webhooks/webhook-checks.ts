/** Checks every minute whether webhooks are delivered in time, for the history of the public status. */
import type { Logger } from 'pino';
import type { CallRecorder } from '../../db/call-recorder.ts';
import type { Database } from '../../db/database.ts';
import { areDeliveriesLate, WEBHOOK_CHECKS } from '../../db/queries/availability.ts';
import { repeat } from '../../domain/background-loop.ts';

const PAUSE_MS = 60_000;

interface WebhookChecksOptions {
  readonly database: Database;
  readonly calls: Pick<CallRecorder, 'record'>;
  readonly log: Pick<Logger, 'debug'>;
  readonly pauseMs?: number;
}

export function startWebhookChecks({ database, calls, log, pauseMs = PAUSE_MS }: WebhookChecksOptions) {
  const check = async (): Promise<void> => {
    const isLate = await areDeliveriesLate(database);
    const failure = isLate ? { fault: 'late', status: null, message: '' } : null;
    calls.record(WEBHOOK_CHECKS, { accountId: null, durationMs: 0, failure });
  };
  return repeat(check, { pauseMs, onError: (error) => log.debug({ err: error }, 'cannot check webhooks') });
}
