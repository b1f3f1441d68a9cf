/**
 * Natural batching: while a flush is in progress, further calls queue up, and the next flush takes them all. An idle
 * batcher flushes all items that arrive in one iteration of the event loop. A busy batcher shares each round trip, lock
 * and commit among many calls. It uses a timer only if it waits for callers to return (`gatherMs`).
 */
import { isConnectionLost, OutcomeUnknownError } from './connections.ts';
import { isPostgresError } from './database.ts';

export interface Batcher<Item, Result> {
  /** Resolves with the result of this item; rejects with the error of its flush. */
  add(item: Item): Promise<Result>;
  /** Resolves when nothing is queued or in flight. */
  idle(): Promise<void>;
}

interface BatcherOptions<Item, Result> {
  /** The most items that one flush takes. */
  readonly maxItems: number;
  /**
   * Repeats a batch whose connection was lost, once, on another connection. If the repetition is lost, too, the batch
   * rejects with {@link OutcomeUnknownError}. Defaults to the same flush, which must then be idempotent.
   */
  readonly again?: (items: readonly Item[]) => Promise<readonly Result[]>;
  /**
   * The longest wait after a flush for its callers to return with their next items, if they and the waiting callers are
   * many. Fewer and larger flushes cost less. Defaults to no wait.
   */
  readonly gatherMs?: number;
  /** Called with the number of items in each flush. */
  readonly onFlush?: (items: number) => void;
}

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/** With fewer items than this, the next flush does not wait. */
const FEW_ITEMS = 8;
/** With so many items, a larger flush would save little, and waiting would leave PostgreSQL idle. */
const MANY_ITEMS = 32;

/** The wait after a flush for callers that are about to return. */
class Gathering {
  readonly #maxMs: number;
  readonly #onEnd: () => void;
  #enough = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(maxMs: number, onEnd: () => void) {
    this.#maxMs = maxMs;
    this.#onEnd = onEnd;
  }

  /** @param expected the number of items that may arrive */
  begin(expected: number): void {
    if (this.#maxMs === 0 || expected < FEW_ITEMS) return;
    this.#enough = Math.min(expected, MANY_ITEMS);
    this.#timer = setTimeout(() => {
      this.end();
      this.#onEnd();
    }, this.#maxMs);
  }

  /** Whether so many items are enough to flush without waiting. */
  isEnough(items: number): boolean {
    return items >= this.#enough;
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#enough = 0;
  }
}

/**
 * @param flush handles a batch, entirely or not at all; must return one result per item, in order. If PostgreSQL
 *   refuses a batch of several items, each is tried alone, so that a bad item fails alone. If the connection is lost,
 *   the batch is repeated once. If PostgreSQL is unreachable, all items fail, since each would wait without success.
 */
export function createBatcher<Item, Result>(
  flush: (items: readonly Item[]) => Promise<readonly Result[]>,
  { maxItems, again = flush, gatherMs = 0, onFlush }: BatcherOptions<Item, Result>,
): Batcher<Item, Result> {
  let queue: Waiting<Item, Result>[] = [];
  let isRequested = false;
  let isFlushing = false;
  const gathering = new Gathering(gatherMs, request);
  let idleWaiters: (() => void)[] = [];

  const repeat = (items: readonly Item[]): Promise<readonly Result[]> => unlessLost(again(items));

  async function flushBatch(batch: readonly Waiting<Item, Result>[], how = flush): Promise<void> {
    try {
      settle(batch, await how(batch.map(({ item }) => item)));
    } catch (error) {
      if (how === flush && isConnectionLost(error)) await flushBatch(batch, repeat);
      else if (batch.length > 1 && isPostgresError(error))
        for (const waiting of batch) await flushBatch([waiting], how);
      else for (const { reject } of batch) reject(error);
    }
  }

  function request(): void {
    if (isRequested || isFlushing || queue.length === 0 || !gathering.isEnough(queue.length)) return;
    isRequested = true;
    // Waits until all input that has already arrived is read, so that its items become part of the batch.
    setImmediate(flushNext);
  }

  function flushNext(): void {
    isRequested = false;
    gathering.end();
    const batch = queue.slice(0, maxItems);
    queue = queue.slice(maxItems);
    isFlushing = true;
    onFlush?.(batch.length);
    void flushBatch(batch).finally(() => {
      isFlushing = false;
      resolveIfIdle();
      gathering.begin(Math.min(batch.length + queue.length, maxItems));
      request();
    });
  }

  function resolveIfIdle(): void {
    if (queue.length > 0 || isFlushing) return;
    for (const resolve of idleWaiters) resolve();
    idleWaiters = [];
  }

  return {
    add: (item) =>
      new Promise<Result>((resolve, reject) => {
        queue.push({ item, resolve, reject });
        request();
      }),
    idle: () =>
      new Promise<void>((resolve) => {
        idleWaiters.push(resolve);
        resolveIfIdle();
      }),
  };
}

/** @throws OutcomeUnknownError if the repetition of a lost batch is lost, too */
async function unlessLost<Result>(repetition: Promise<Result>): Promise<Result> {
  try {
    return await repetition;
  } catch (error) {
    if (isPostgresError(error) && !isConnectionLost(error)) throw error;
    throw new OutcomeUnknownError('a batch and its repetition were both lost with their connections', {
      cause: error,
    });
  }
}

/** Settles the items of a completed flush. Never repeats the flush, even if it returned a wrong number of results. */
function settle<Item, Result>(batch: readonly Waiting<Item, Result>[], results: readonly Result[]): void {
  if (results.length === batch.length) return results.forEach((result, index) => batch[index]?.resolve(result));
  const error = new Error(`a flush of ${batch.length} items returned ${results.length} results`);
  for (const { reject } of batch) reject(error);
}
