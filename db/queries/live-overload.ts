/** When a process last refused live requests, for the batches of all workers: they are the first to wait. */
import type { Database } from '../database.ts';

/** A refusal counts for so long. */
export const LIVE_OVERLOAD_SECONDS = 5;

/** Records that a process refuses live requests now. */
export async function recordLiveOverload(database: Database): Promise<void> {
  await database.raw(/* sql */ `
    INSERT INTO live_overload (at) VALUES (clock_timestamp()) ON CONFLICT (only_row) DO UPDATE SET at = EXCLUDED.at`);
}

/** Whether a process has refused live requests within {@link LIVE_OVERLOAD_SECONDS}. */
export async function isLiveOverloaded(database: Database): Promise<boolean> {
  const recent = `at > clock_timestamp() - interval '${LIVE_OVERLOAD_SECONDS} seconds'`;
  return (await database('live_overload').whereRaw(recent).first('at')) !== undefined;
}
