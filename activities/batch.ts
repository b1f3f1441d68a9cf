/** The steps of a batch. Each continues from the state in PostgreSQL, so that a repetition changes nothing that is final. */
import { Context } from '@temporalio/activity';
import { pause } from '../domain/background-loop.ts';
import type { Database } from '../db/database.ts';
import { endRunning, findRunningBatch, type Funds, pauseBatch, readFunds } from '../db/queries/batch-runs.ts';
import { type JobServices, type JobsResult, runJobs } from '../services/batches/run-jobs.ts';
import { finalizeBatch } from '../services/batches/finalize-batch.ts';
import { prepareBatch, type PrepareServices } from '../services/batches/prepare-batch.ts';
import { type ChunkResult, runChunk } from '../services/batches/run-chunk.ts';
import { runTasks, type TaskChunkServices } from '../services/batches/run-tasks.ts';
import type { LineTasks } from '../services/batches/start-task.ts';
import type { ErrorCode } from '../domain/errors.ts';
import { whileHeartbeating } from './liveness.ts';
import type { Storage } from '../storage/storage.ts';

export type BatchActivities = ReturnType<typeof createBatchActivities>;

/** The result of a chunk, with the money and the key of a batch that is paused. */
type RunResult =
  | Exclude<ChunkResult, { kind: 'paused' }>
  | (Extract<ChunkResult, { kind: 'paused' }> & { readonly funds: Funds });

/** The progress of jobs, with the money and the key of a batch that is paused; null for another. */
type JobsRun = JobsResult & { readonly funds: Funds | null };

export interface BatchDependencies extends JobServices, TaskChunkServices, PrepareServices {
  readonly storage: Storage;
  readonly tasks: LineTasks;
  /** How often a batch that waits is looked at; a second by default. */
  readonly pollMs?: number;
}

const POLL_MS = 1_000;
/** A batch that waits for money tries again after so long, even if its account and its key have not changed. */
const TRY_AGAIN_MS = 30_000;
/** The wait between heartbeats that show progress, such as lines that are written. */
const HEARTBEAT_MS = 1_000;

export function createBatchActivities({ pollMs = POLL_MS, ...services }: BatchDependencies) {
  const { database } = services;

  return {
    /** Reads the input into lines. A refused input ends the batch. */
    async prepare(batchId: string): Promise<void> {
      await prepareBatch(batchId, services, createHeartbeat());
    },

    /** Runs the next lines. */
    async runLines(batchId: string): Promise<RunResult> {
      const context = Context.current();
      const { cancellationSignal: signal } = context;
      // A database that was restored may have forgotten the lines that an earlier step has read.
      await prepareBatch(batchId, services, createHeartbeat());
      const result = await whileHeartbeating(context, () => runChunk(batchId, services, { signal }));
      return recordPause(database, batchId, result);
    },

    /** Creates a task for each line, and awaits the tasks. */
    async runTasks(batchId: string): Promise<RunResult> {
      const context = Context.current();
      const { cancellationSignal: signal } = context;
      await prepareBatch(batchId, services, createHeartbeat());
      const result = await whileHeartbeating(context, () => runTasks(batchId, services, { signal, pollMs }));
      return recordPause(database, batchId, result);
    },

    /** Makes a step of the batch's jobs at vendors, and starts further jobs. */
    async runJobs(batchId: string): Promise<JobsRun> {
      const context = Context.current();
      const { cancellationSignal: signal } = context;
      const result = await whileHeartbeating(context, () => runJobs(batchId, services, { signal }));
      if (result.reason === null) return { ...result, funds: null };
      return { ...result, funds: await pauseFor(database, batchId, result.reason) };
    },

    /**
     * Waits until the account or the key of a paused batch has changed, the batch may run no more, or a while has passed.
     *
     * @param jobsDueMs when to follow jobs of vendors, which a pause does not stop; null without jobs
     */
    async awaitFunds(batchId: string, before: Funds, jobsDueMs: number | null): Promise<void> {
      const { cancellationSignal } = Context.current();
      const heartbeat = createHeartbeat();
      const untilMs = Date.now() + (jobsDueMs ?? TRY_AGAIN_MS);
      for (;;) {
        const batch = await findRunningBatch(database, batchId);
        if (batch === null || (Date.now() >= untilMs && (jobsDueMs !== null || batch.operatorPausedAt === null)))
          return;
        if (hasChanged(before, await readFunds(database, batchId))) return;
        heartbeat();
        await pause(pollMs, cancellationSignal);
        cancellationSignal.throwIfAborted();
      }
    },

    /**
     * Writes the files, and makes the batch final.
     *
     * @returns whether lines wait instead, because a restored database has forgotten their answers
     */
    async finalize(batchId: string): Promise<boolean> {
      await prepareBatch(batchId, services, createHeartbeat());
      if (await mustRunOn(database, batchId)) return true;
      await finalizeBatch(batchId, services, createHeartbeat());
      return false;
    },
  };
}

/** Whether lines of a batch in progress wait. Otherwise, no further line starts. */
async function mustRunOn(database: Database, batchId: string): Promise<boolean> {
  const isRunning = (await findRunningBatch(database, batchId)) !== null;
  return isRunning && !(await endRunning(database, batchId));
}

async function recordPause(database: Database, batchId: string, result: ChunkResult): Promise<RunResult> {
  // Another worker repeats what is left.
  Context.current().cancellationSignal.throwIfAborted();
  return result.kind === 'paused' ? { ...result, funds: await pauseFor(database, batchId, result.reason) } : result;
}

async function pauseFor(database: Database, batchId: string, reason: ErrorCode): Promise<Funds> {
  // Before the pause is visible, so that a top-up that answers the pause is a change.
  const funds = await readFunds(database, batchId);
  await pauseBatch(database, batchId, reason);
  return funds;
}

function hasChanged(before: Funds, now: Funds): boolean {
  return before.key !== now.key || BigInt(now.available) > BigInt(before.available);
}

/** Returns a function to call often, which sends a heartbeat now and then. */
function createHeartbeat(): () => void {
  const context = Context.current();
  let sentAtMs = -Infinity;
  return () => {
    if (performance.now() - sentAtMs < HEARTBEAT_MS) return;
    sentAtMs = performance.now();
    context.heartbeat();
  };
}
