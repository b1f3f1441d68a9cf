/** Runs long reports one after another for each caller, which leaves connections for other callers' reports. */
import type { Database } from '../../db/database.ts';
import { readStatement, type Statement } from '../../db/queries/statements.ts';
import { ServiceError } from '../../domain/errors.ts';
import { createFairQueue, type FairQueue } from '../fair-queue.ts';

/**
 * Runs a report after the earlier reports of its holder: an account, or the caller of a report over all accounts.
 *
 * @throws ServiceError `rate_limit_exceeded` when many reports of the holder wait
 */
export type ReportQueue = FairQueue;
export type ReadStatement = (statement: Parameters<typeof readStatement>[1]) => Promise<Statement>;

/** Connections that these reports use at once. Other reports use the remaining ones. */
const MAX_AT_ONCE = 2;
const MAX_WAITING_PER_HOLDER = 5;
const RETRY_SECONDS = 5;

/** Runs one report of a holder at a time, and {@link MAX_AT_ONCE} in all. */
export function createReportQueue(): ReportQueue {
  return createFairQueue({ atOnce: MAX_AT_ONCE, perHolder: 1, refuse });
}

/** Reads the statements of an account one after another. @param reports connections for reports */
export function createReadStatement(
  reports: Database,
  queueReport: ReportQueue,
  read: (reports: Database, ...statement: Parameters<ReadStatement>) => Promise<Statement> = readStatement,
): ReadStatement {
  return (statement) => queueReport(statement.accountId, () => read(reports, statement));
}

function refuse(waiting: number): void {
  if (waiting < MAX_WAITING_PER_HOLDER) return;
  throw new ServiceError('rate_limit_exceeded', 'Earlier reports are still running. Wait until they are complete.', {
    retryAfterSeconds: RETRY_SECONDS,
  });
}
