/** Runs each sweep until nothing is left to remove or erase, and brings the sums of usage up to date. */
import { Context } from '@temporalio/activity';
import type { Database } from '../db/database.ts';
import { CONTENT_SWEEPS, eraseTasks, findContentToErase, type TaskContent } from '../db/queries/content.ts';
import { findExpiredLateResults, deleteLateResults, withdrawLateResults } from '../db/queries/late-results.ts';
import { type DoneResultFile, findDoneResultFiles, deleteResultFiles } from '../db/queries/result-files.ts';
import { claimUploadsToRemove, deleteRemovedUploads } from '../db/queries/uploads.ts';
import { type Sweep, SWEEPS } from '../db/sweeps.ts';
import { sumUsage } from '../db/usage-sums.ts';
import { lateResultIdOf } from '../domain/task.ts';
import { CANCEL_LIMIT_MS } from '../domain/step-limits.ts';
import type { Storage } from '../storage/storage.ts';

export type SweepActivities = ReturnType<typeof createSweepActivities>;

const BATCH_SIZE = 1_000;

/** Each object costs a request to the store, each history one to Temporal. */
const FILES_BATCH_SIZE = 100;

export interface HistoryEraser {
  /** Has all runs of a workflow deleted that has ended; Temporal may take a minute. Not an error when it has none. */
  erase(workflowId: string): Promise<void>;
}

export interface SweepDependencies {
  readonly database: Database;
  readonly storage: Pick<Storage, 'delete' | 'keyOf'>;
  readonly histories: HistoryEraser;
  /** How long an upload is kept if no task uses it. */
  readonly uploadExpiryMs: number;
  /** How long a task must have ended before its content is erased. By then its workflow has ended, too. */
  readonly erasedAfterMs?: number;
}

/** The sweeps that delete files from the store. */
export function createFileSweeps({
  storage,
  histories,
  uploadExpiryMs,
  erasedAfterMs = 2 * CANCEL_LIMIT_MS,
}: Omit<SweepDependencies, 'database'>) {
  /** Removes first the files and histories that only the task leads to. */
  async function eraseOutside({ taskId, urls, deliveryIds }: TaskContent): Promise<void> {
    await deleteFiles(urls);
    for (const workflowId of [taskId, lateResultIdOf(taskId), ...deliveryIds]) await histories.erase(workflowId);
  }

  async function deleteFiles(urls: readonly string[]): Promise<void> {
    const keys = urls.map((url) => storage.keyOf(url)).filter((key) => key !== null);
    for (const key of keys) await storage.delete(key);
  }

  return {
    'content of tasks': async (database, limit) => {
      const contents = await findContentToErase(database, { endedForSeconds: erasedAfterMs / 1000, limit });
      const taskIds = contents.map(({ taskId }) => taskId);
      // Before their files are deleted, so that nobody pays for files that are gone.
      await deleteFiles(await withdrawLateResults(database, taskIds));
      for (const content of contents) await eraseOutside(content);
      await eraseTasks(database, taskIds);
      return contents.length;
    },

    'late results': async (database, limit) => {
      const expired = await findExpiredLateResults(database, limit);
      for (const { output } of expired) await deleteFiles(output.map(({ url }) => url));
      await deleteLateResults(
        database,
        expired.map(({ taskId }) => taskId),
      );
      return expired.length;
    },

    /** Deletes uploads from storage first, and their rows afterwards. */
    uploads: async (database, limit) => {
      const uploads = await claimUploadsToRemove(database, { unusedForSeconds: uploadExpiryMs / 1000, limit });
      for (const { storageKey } of uploads) await storage.delete(storageKey);
      await deleteRemovedUploads(
        database,
        uploads.map(({ id }) => id),
      );
      return uploads.length;
    },

    /** Deletes what steps left behind in storage; files that a task refers to stay, and are no longer tracked. */
    'result files': async (database, limit) => {
      const files = await findDoneResultFiles(database, limit);
      for (const file of files) if (!isNamed(file)) await storage.delete(file.key);
      await deleteResultFiles(
        database,
        files.map(({ key }) => key),
      );
      return files.length;
    },
  } satisfies Readonly<Record<string, Sweep>>;
}

export function createSweepActivities(dependencies: SweepDependencies) {
  const { database } = dependencies;
  const sweepsByBatchSize: readonly (readonly [number, Readonly<Record<string, Sweep>>])[] = [
    [BATCH_SIZE, { ...SWEEPS, ...CONTENT_SWEEPS }],
    [FILES_BATCH_SIZE, createFileSweeps(dependencies)],
  ];

  return {
    /** @returns the number of rows removed, by kind */
    async sweepTables(): Promise<Record<string, number>> {
      const context = Context.current();
      const removed: Record<string, number> = {};
      const sweepAll = async (name: string, sweep: Sweep, batchSize: number): Promise<void> => {
        let batch: number;
        do {
          context.cancellationSignal.throwIfAborted();
          batch = await sweep(database, batchSize);
          removed[name] = (removed[name] ?? 0) + batch;
          context.heartbeat(removed);
        } while (batch === batchSize);
      };
      await sumUsage(database, {
        onStep: () => {
          context.cancellationSignal.throwIfAborted();
          context.heartbeat(removed);
        },
      });
      for (const [batchSize, sweeps] of sweepsByBatchSize) {
        for (const [name, sweep] of Object.entries(sweeps)) await sweepAll(name, sweep, batchSize);
      }
      return removed;
    },
  };
}

/** Compared by key, because links may have been written when the store had another address. */
function isNamed({ key, urls }: DoneResultFile): boolean {
  return urls.some((url) => url.endsWith(`/${key}`));
}
