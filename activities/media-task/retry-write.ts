/** Writes that must not be lost when a worker gives up, because nothing else knows their content. */
import { Context } from '@temporalio/activity';
import { isPostgresError } from '../../db/database.ts';

const PAUSE_MS = 500;
const MAX_PAUSE_MS = 10_000;

/** Retries a write while PostgreSQL cannot be reached and the step may continue. @throws PostgreSQL's refusals */
export async function retryWrite<Result>(write: () => Promise<Result>): Promise<Result> {
  const context = Context.current();
  for (let pauseMs = PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS)) {
    try {
      return await write();
    } catch (error) {
      if (isPostgresError(error) && !isRestarting(error)) throw error;
      await context.sleep(pauseMs);
    }
  }
}

/** Class 57P means a server that is shutting down, has crashed or is starting up; class 08, a broken connection. */
function isRestarting(error: unknown): boolean {
  return error instanceof Error && 'code' in error && /^(57P|08)/.test(String(error.code));
}
