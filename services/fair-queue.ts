/** Runs work of many holders, such as accounts, a few at a time, and no holder's work before others have had a turn. */

/** Runs the work when it is its turn, and returns its result. @throws the error of `refuse` */
export type FairQueue = <Result>(holder: string, work: () => Promise<Result>) => Promise<Result>;

interface QueueLimits {
  readonly atOnce: number;
  readonly perHolder: number;
  /** Called with the number of the holder's works that wait; may throw to refuse another. */
  readonly refuse?: (waiting: number) => void;
}

interface Waiting {
  readonly holder: string;
  readonly start: () => Promise<unknown>;
}

/** Works of a holder start in the order of their arrival. */
export function createFairQueue({ atOnce, perHolder, refuse }: QueueLimits): FairQueue {
  const running = new Map<string, number>();
  const waiting: Waiting[] = [];
  let count = 0;

  const runningOf = (holder: string): number => running.get(holder) ?? 0;

  function change(holder: string, difference: 1 | -1): void {
    count += difference;
    const left = runningOf(holder) + difference;
    if (left === 0) running.delete(holder);
    else running.set(holder, left);
  }

  function startNext(): void {
    const index = count < atOnce ? waiting.findIndex(({ holder }) => runningOf(holder) < perHolder) : -1;
    const [next] = index === -1 ? [] : waiting.splice(index, 1);
    if (!next) return;
    change(next.holder, 1);
    void next.start().finally(() => {
      change(next.holder, -1);
      startNext();
    });
    startNext();
  }

  return async <Result>(holder: string, work: () => Promise<Result>) => {
    refuse?.(waiting.filter((one) => one.holder === holder).length);
    return new Promise<Result>((resolve, reject) => {
      waiting.push({ holder, start: () => work().then(resolve, reject) });
      startNext();
    });
  };
}
