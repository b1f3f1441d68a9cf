/** Runs the sweeps, each until nothing is left to remove. */
import { Context } from '@temporalio/activity';
import type { Database } from '../db/database.ts';
import { SWEEPS } from '../db/sweeps.ts';

export type SweepActivities = ReturnType<typeof createSweepActivities>;

const BATCH_SIZE = 1_000;

export function createSweepActivities({ database }: { readonly database: Database }) {
  return {
    /** @returns how many rows were removed, by what they were */
    async sweepTables(): Promise<Record<string, number>> {
      const context = Context.current();
      const removed: Record<string, number> = {};
      for (const [name, sweep] of Object.entries(SWEEPS)) {
        let batch: number;
        do {
          context.cancellationSignal.throwIfAborted();
          batch = await sweep(database, BATCH_SIZE);
          removed[name] = (removed[name] ?? 0) + batch;
          context.heartbeat(removed);
        } while (batch === BATCH_SIZE);
      }
      return removed;
    },
  };
}
