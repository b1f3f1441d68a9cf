/** How the time of some work grows with its size, on a machine that has other things to do. */

const RUNS = 3;
const ATTEMPTS = 6;
const SMALLEST = 500;
const LARGEST = 32_000;
/** Below this the clock says more about the machine than about the work. */
const LONG_ENOUGH_MS = 4;
/** Nothing quadratic comes close to it. */
const LINEAR = 2.5;

/**
 * By how much the time of the work grows when its size doubles: about 2 where it is linear, 4 where it is quadratic. Measured
 * as time of the processor, at a size and at four times that size, so that noise counts half; of all attempts the one
 * that was disturbed least.
 *
 * @param prepare makes the work of a size, which is then timed
 */
export function growthOf(prepare: (size: number) => () => unknown): number {
  let size = SMALLEST;
  while (size < LARGEST && bestMs(prepare(size)) < LONG_ENOUGH_MS) size *= 2;
  let growth = Infinity;
  for (let attempt = 0; attempt < ATTEMPTS && growth > LINEAR; attempt += 1) {
    const tried = attempt % 2 === 0 ? size : 2 * size;
    const onceMs = bestMs(prepare(tried));
    growth = Math.min(growth, Math.sqrt(bestMs(prepare(4 * tried)) / Math.max(onceMs, 0.5)));
  }
  return growth;
}

function bestMs(work: () => unknown): number {
  let best = Infinity;
  for (let run = 0; run < RUNS; run += 1) {
    const before = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(before);
    best = Math.min(best, (user + system) / 1000);
  }
  return best;
}
