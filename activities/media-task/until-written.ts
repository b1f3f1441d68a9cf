/** Writes that must not be lost with the worker's patience: what they tell is known to nobody else. */
import { Context } from '@temporalio/activity';
import { isRefusal } from '../../db/database.ts';

const PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;

/** Repeats a write while PostgreSQL is out of reach and the step may go on. @throws what PostgreSQL refuses */
export async function untilWritten<Result>(write: () => Promise<Result>): Promise<Result> {
  const context = Context.current();
  for (let pauseMs = PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    try {
      return await write();
    } catch (error) {
      if (isRefusal(error) && !isRestarting(error)) throw error;
      await context.sleep(pauseMs);
    }
  }
}

/** Class 57P is of a server that is shutting down, has crashed or is starting up; class 08 of broken connections. */
function isRestarting(error: unknown): boolean {
  return error instanceof Error && 'code' in error && /^(57P|08)/.test(String(error.code));
}
