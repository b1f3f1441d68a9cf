/** Keeps a limited number of jobs in memory, and forgets the oldest. */
import type { Job } from './job.ts';

export interface JobStore {
  add(job: Job): void;
  byId(id: string): Job | undefined;
  byKey(key: string): Job | undefined;
  /** The latest jobs, newest first. */
  latest(limit: number): readonly Job[];
}

export function createJobStore(maxJobs: number): JobStore {
  // A map remembers the order of insertion, so the first entry is the oldest.
  const ids = new Map<string, Job>();
  const keys = new Map<string, Job>();

  const forgetOldest = (): void => {
    for (const oldest of ids.values()) {
      if (ids.size <= maxJobs) return;
      ids.delete(oldest.id);
      keys.delete(oldest.key);
    }
  };

  return {
    add(job) {
      ids.set(job.id, job);
      keys.set(job.key, job);
      forgetOldest();
    },
    byId: (id) => ids.get(id),
    byKey: (key) => keys.get(key),
    latest: (limit) => [...ids.values()].slice(-limit).toReversed(),
  };
}
