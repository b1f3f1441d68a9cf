/** Runs the sweeps, each until nothing is left to remove. */
import { Context } from '@temporalio/activity';
import type { Database } from '../db/database.ts';
import { type DoneResultFile, findDoneResultFiles, forgetResultFiles } from '../db/queries/result-files.ts';
import { claimUploadsToRemove, forgetRemovedUploads } from '../db/queries/uploads.ts';
import { SWEEPS } from '../db/sweeps.ts';
import type { Storage } from '../storage/storage.ts';

export type SweepActivities = ReturnType<typeof createSweepActivities>;

const BATCH_SIZE = 1_000;

/** Each object is a request to the store. */
const FILES_BATCH_SIZE = 100;

export interface SweepDependencies {
  readonly database: Database;
  readonly storage: Pick<Storage, 'delete'>;
  /** How long an upload is kept that no task uses. */
  readonly uploadExpiryMs: number;
}

/** Each takes a batch out of the store, and says how many files it was about. */
export function createFileSweeps({ database, storage, uploadExpiryMs }: SweepDependencies) {
  /** Takes uploads out of storage, and only then forgets them. @returns how many */
  async function sweepUploads(): Promise<number> {
    const unusedForSeconds = uploadExpiryMs / 1000;
    const uploads = await claimUploadsToRemove(database, { unusedForSeconds, limit: FILES_BATCH_SIZE });
    for (const { storageKey } of uploads) await storage.delete(storageKey);
    await forgetRemovedUploads(
      database,
      uploads.map(({ id }) => id),
    );
    return uploads.length;
  }

  /** Takes what steps left behind out of storage; what a task names stays, and needs no watching any more. @returns how many */
  async function sweepResultFiles(): Promise<number> {
    const files = await findDoneResultFiles(database, FILES_BATCH_SIZE);
    for (const file of files) if (!isNamed(file)) await storage.delete(file.key);
    await forgetResultFiles(
      database,
      files.map(({ key }) => key),
    );
    return files.length;
  }

  return { uploads: sweepUploads, 'result files': sweepResultFiles };
}

export function createSweepActivities(dependencies: SweepDependencies) {
  const { database } = dependencies;
  const fileSweeps = createFileSweeps(dependencies);

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
      for (const [name, sweep] of Object.entries(fileSweeps)) {
        let batch: number;
        do {
          context.cancellationSignal.throwIfAborted();
          batch = await sweep();
          removed[name] = (removed[name] ?? 0) + batch;
          context.heartbeat(removed);
        } while (batch === FILES_BATCH_SIZE);
      }
      return removed;
    },
  };
}

/** Told by the key, since links may have been written when the store had another address. */
function isNamed({ key, urls }: DoneResultFile): boolean {
  return urls.some((url) => url.endsWith(`/${key}`));
}
