/** Statements of accounts, in turns, so that those who ask for many of one account leave connections for reports to others. */
import type { Database } from '../../../db/database.ts';
import { readStatement, type Statement } from '../../../db/queries/statements.ts';
import { ServiceError } from '../../../domain/errors.ts';

export type ReadStatement = (asked: Parameters<typeof readStatement>[1]) => Promise<Statement>;

/** Of the connections for reports; the rest is left to other reports. */
const MAX_AT_ONCE = 2;
const MAX_WAITING_PER_ACCOUNT = 5;
const RETRY_SECONDS = 5;

interface Waiting {
  readonly accountId: string;
  readonly start: () => Promise<unknown>;
}

/**
 * Reads one statement of an account at a time, and {@link MAX_AT_ONCE} in all.
 *
 * @param reports connections for reports
 * @returns a function that throws ServiceError `rate_limit_exceeded` when many statements of the account wait
 */
export function createReadStatement(
  reports: Database,
  read: (reports: Database, ...asked: Parameters<ReadStatement>) => Promise<Statement> = readStatement,
): ReadStatement {
  const running = new Set<string>();
  const waiting: Waiting[] = [];

  function startNext(): void {
    const index = running.size < MAX_AT_ONCE ? waiting.findIndex(({ accountId }) => !running.has(accountId)) : -1;
    const [next] = index === -1 ? [] : waiting.splice(index, 1);
    if (!next) return;
    running.add(next.accountId);
    void next.start().finally(() => {
      running.delete(next.accountId);
      startNext();
    });
    startNext();
  }

  return async (asked) => {
    const { accountId } = asked;
    if (waiting.filter((one) => one.accountId === accountId).length >= MAX_WAITING_PER_ACCOUNT) {
      throw new ServiceError('rate_limit_exceeded', 'Statements of this account are being read. Wait for them first.', {
        retryAfterSeconds: RETRY_SECONDS,
      });
    }
    return new Promise<Statement>((resolve, reject) => {
      waiting.push({ accountId, start: () => read(reports, asked).then(resolve, reject) });
      startNext();
    });
  };
}
