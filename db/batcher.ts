/**
 * Natural batching: while one flush is in flight the next calls queue up, and the next flush takes them all. An idle batcher
 * flushes a single call at once; a busy one shares each database round trip, lock and commit between many calls. No timer.
 */
import { isRefusal } from './database.ts';

export interface Batcher<Item, Result> {
  /** Resolves with the result of this item; rejects with what its flush threw. */
  add(item: Item): Promise<Result>;
  /** Resolves when nothing is queued or in flight. */
  idle(): Promise<void>;
}

interface BatcherOptions {
  /** How many items one flush takes at most. */
  readonly maxItems: number;
  /** How many flushes may be in flight at once. */
  readonly concurrency?: number;
  /** Told how many items each flush takes. */
  readonly onFlush?: (items: number) => void;
}

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * @param flush handles a batch, wholly or not at all; must return one result for each item, in their order. When PostgreSQL
 *   refuses a batch of several, each item is tried again alone, so that one bad item fails only itself. When it is out of
 *   reach all of them fail, since each would wait as long in vain.
 */
export function createBatcher<Item, Result>(
  flush: (items: readonly Item[]) => Promise<readonly Result[]>,
  { maxItems, concurrency = 1, onFlush }: BatcherOptions,
): Batcher<Item, Result> {
  let queue: Waiting<Item, Result>[] = [];
  let inFlight = 0;
  let idleWaiters: (() => void)[] = [];

  async function flushBatch(batch: readonly Waiting<Item, Result>[]): Promise<void> {
    try {
      settle(batch, await flush(batch.map(({ item }) => item)));
    } catch (error) {
      if (batch.length > 1 && isRefusal(error)) for (const waiting of batch) await flushBatch([waiting]);
      else for (const { reject } of batch) reject(error);
    }
  }

  function pump(): void {
    while (queue.length > 0 && inFlight < concurrency) {
      const batch = queue.slice(0, maxItems);
      queue = queue.slice(maxItems);
      inFlight += 1;
      onFlush?.(batch.length);
      void flushBatch(batch).finally(() => {
        inFlight -= 1;
        pump();
      });
    }
    if (queue.length === 0 && inFlight === 0) {
      for (const resolve of idleWaiters) resolve();
      idleWaiters = [];
    }
  }

  return {
    add: (item) =>
      new Promise<Result>((resolve, reject) => {
        queue.push({ item, resolve, reject });
        pump();
      }),
    idle: () =>
      new Promise<void>((resolve) => {
        idleWaiters.push(resolve);
        pump();
      }),
  };
}

/** A flush that has done its work is not repeated, whatever it returned. */
function settle<Item, Result>(batch: readonly Waiting<Item, Result>[], results: readonly Result[]): void {
  if (results.length === batch.length) return results.forEach((result, index) => batch[index]?.resolve(result));
  const error = new Error(`a flush of ${batch.length} items returned ${results.length} results`);
  for (const { reject } of batch) reject(error);
}
