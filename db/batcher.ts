/**
 * Natural batching: while one flush is in flight the next calls queue up, and the next flush takes them all. An idle batcher
 * flushes what one turn of the event loop brings at once; a busy one shares each database round trip, lock and commit between
 * many calls. No timer.
 */
import { isConnectionLost, OutcomeUnknownError } from './connections.ts';
import { isRefusal } from './database.ts';

export interface Batcher<Item, Result> {
  /** Resolves with the result of this item; rejects with what its flush threw. */
  add(item: Item): Promise<Result>;
  /** Resolves when nothing is queued or in flight. */
  idle(): Promise<void>;
}

interface BatcherOptions<Item, Result> {
  /** How many items one flush takes at most. */
  readonly maxItems: number;
  /**
   * Does a batch again whose connection was lost, on another one and once; rejects with {@link OutcomeUnknownError} when that
   * fails, too. Without it the same flush does, which must then be such that once and twice are the same.
   */
  readonly again?: (items: readonly Item[]) => Promise<readonly Result[]>;
  /** When it may flush; without them, whenever none of its own flushes is in flight. */
  readonly turns?: Turns;
  /** Told how many items each flush takes. */
  readonly onFlush?: (items: number) => void;
}

/**
 * Says when batchers may flush. Those that share their turns flush together, and again when all of them are done: what would
 * wait for one another in the database anyway comes in half as many batches of twice the size.
 */
export interface Turns {
  /** @param flush begins a flush, unless there is nothing to do */
  join(flush: () => Promise<void> | null): void;
  /** Asks for a turn. */
  request(): void;
}

/** One turn at a time. */
export function createTurns(): Turns {
  const members: (() => Promise<void> | null)[] = [];
  let inFlight = 0;
  let isRequested = false;

  function request(): void {
    if (isRequested || inFlight > 0) return;
    isRequested = true;
    // Not before everything that has arrived by now has been read, which is then part of it.
    setImmediate(begin);
  }

  function begin(): void {
    isRequested = false;
    for (const flush of members) {
      const flushing = flush();
      if (flushing === null) continue;
      inFlight += 1;
      void flushing.finally(() => {
        inFlight -= 1;
        request();
      });
    }
  }

  return { join: (flush) => void members.push(flush), request };
}

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * @param flush handles a batch, wholly or not at all; must return one result for each item, in their order. When PostgreSQL
 *   refuses a batch of several, each item is tried again alone, so that one bad item fails only itself. When its connection is
 *   lost it is done once more. When PostgreSQL is out of reach all of them fail, since each would wait as long in vain.
 */
export function createBatcher<Item, Result>(
  flush: (items: readonly Item[]) => Promise<readonly Result[]>,
  { maxItems, again = flush, turns = createTurns(), onFlush }: BatcherOptions<Item, Result>,
): Batcher<Item, Result> {
  let queue: Waiting<Item, Result>[] = [];
  let inFlight = 0;
  let idleWaiters: (() => void)[] = [];

  async function repeat(items: readonly Item[]): Promise<readonly Result[]> {
    try {
      return await again(items);
    } catch (error) {
      if (isRefusal(error) && !isConnectionLost(error)) throw error;
      throw new OutcomeUnknownError('a batch was lost with its connection, and so was its repetition', {
        cause: error,
      });
    }
  }

  async function flushBatch(batch: readonly Waiting<Item, Result>[], how = flush): Promise<void> {
    try {
      settle(batch, await how(batch.map(({ item }) => item)));
    } catch (error) {
      if (how === flush && isConnectionLost(error)) await flushBatch(batch, repeat);
      else if (batch.length > 1 && isRefusal(error)) for (const waiting of batch) await flushBatch([waiting], how);
      else for (const { reject } of batch) reject(error);
    }
  }

  function flushNext(): Promise<void> | null {
    if (queue.length === 0) return null;
    const batch = queue.slice(0, maxItems);
    queue = queue.slice(maxItems);
    inFlight += 1;
    onFlush?.(batch.length);
    return flushBatch(batch).finally(() => {
      inFlight -= 1;
      tellIdle();
    });
  }

  function tellIdle(): void {
    if (queue.length > 0 || inFlight > 0) return;
    for (const resolve of idleWaiters) resolve();
    idleWaiters = [];
  }

  turns.join(flushNext);
  return {
    add: (item) =>
      new Promise<Result>((resolve, reject) => {
        queue.push({ item, resolve, reject });
        turns.request();
      }),
    idle: () =>
      new Promise<void>((resolve) => {
        idleWaiters.push(resolve);
        tellIdle();
      }),
  };
}

/** A flush that has done its work is not repeated, whatever it returned. */
function settle<Item, Result>(batch: readonly Waiting<Item, Result>[], results: readonly Result[]): void {
  if (results.length === batch.length) return results.forEach((result, index) => batch[index]?.resolve(result));
  const error = new Error(`a flush of ${batch.length} items returned ${results.length} results`);
  for (const { reject } of batch) reject(error);
}
