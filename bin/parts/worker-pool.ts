/** The workers that run in one process, one for each task queue. */
import type { Worker } from '@temporalio/worker';
import type { WorkerSettings } from './workers.ts';

export interface WorkerPool {
  taskQueues(): readonly string[];
  /**
   * Runs a worker for each of the settings, then shuts down an earlier worker of the same task queue. A worker that
   * fails ends the process, since no code handles its error.
   */
  run(settings: readonly WorkerSettings[]): Promise<void>;
  /** Shuts all workers down, and waits until they have finished their work. */
  stop(): Promise<void>;
}

/** @param create makes a worker without running it */
export function createWorkerPool(create: (settings: WorkerSettings) => Promise<Worker>): WorkerPool {
  const workers = new Map<string, Worker>();
  const runs: Promise<void>[] = [];

  return {
    taskQueues: () => [...workers.keys()],
    run: async (settings) => {
      const created = await Promise.all(settings.map(async (one) => [one.taskQueue, await create(one)] as const));
      for (const [taskQueue, worker] of created) {
        const before = workers.get(taskQueue);
        workers.set(taskQueue, worker);
        runs.push(worker.run());
        before?.shutdown();
      }
    },
    stop: async () => {
      for (const worker of workers.values()) worker.shutdown();
      await Promise.all(runs);
    },
  };
}
