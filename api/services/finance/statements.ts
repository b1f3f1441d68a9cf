/** Runs long reports one after another for each caller, which leaves connections for other callers' reports. */
import type { Database } from '../../../db/database.ts';
import { readStatement, type Statement } from '../../../db/queries/statements.ts';
import { ServiceError } from '../../../domain/errors.ts';

/**
 * Runs a report after the earlier reports of its holder: an account, or the caller of a report over all accounts.
 *
 * @throws ServiceError `rate_limit_exceeded` when many reports of the holder wait
 */
export type ReportQueue = <Report>(holder: string, report: () => Promise<Report>) => Promise<Report>;
export type ReadStatement = (statement: Parameters<typeof readStatement>[1]) => Promise<Statement>;

/** Connections that these reports use at once. Other reports use the remaining ones. */
const MAX_AT_ONCE = 2;
const MAX_WAITING_PER_HOLDER = 5;
const RETRY_SECONDS = 5;

interface Waiting {
  readonly holder: string;
  readonly start: () => Promise<unknown>;
}

/** Runs one report of a holder at a time, and {@link MAX_AT_ONCE} in all. */
export function createReportQueue(): ReportQueue {
  const running = new Set<string>();
  const waiting: Waiting[] = [];

  function startNext(): void {
    const index = running.size < MAX_AT_ONCE ? waiting.findIndex(({ holder }) => !running.has(holder)) : -1;
    const [next] = index === -1 ? [] : waiting.splice(index, 1);
    if (!next) return;
    running.add(next.holder);
    void next.start().finally(() => {
      running.delete(next.holder);
      startNext();
    });
    startNext();
  }

  return async <Report>(holder: string, report: () => Promise<Report>) => {
    if (waiting.filter((one) => one.holder === holder).length >= MAX_WAITING_PER_HOLDER) {
      throw new ServiceError(
        'rate_limit_exceeded',
        'Earlier reports are still running. Wait until they are complete.',
        {
          retryAfterSeconds: RETRY_SECONDS,
        },
      );
    }
    return new Promise<Report>((resolve, reject) => {
      waiting.push({ holder, start: () => report().then(resolve, reject) });
      startNext();
    });
  };
}

/** Reads the statements of an account one after another. @param reports connections for reports */
export function createReadStatement(
  reports: Database,
  queueReport: ReportQueue,
  read: (reports: Database, ...statement: Parameters<ReadStatement>) => Promise<Statement> = readStatement,
): ReadStatement {
  return (statement) => queueReport(statement.accountId, () => read(reports, statement));
}
