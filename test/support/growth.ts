/** How the time of some work grows with its size, on a busy machine. */

const RUNS = 2;
const ATTEMPTS = 6;
const SMALLEST = 500;
const LARGEST = 32_000;
/** Shorter times measure the machine rather than the work. */
const LONG_ENOUGH_MS = 4;
/** Quadratic work is far above this factor. */
const LINEAR = 2.5;

/**
 * The factor by which the time of the work grows when its size doubles: about 2 for linear work, 4 for quadratic work.
 * Measured as processor time, at a size and at four times that size, so that noise counts half; the least disturbed
 * attempt counts.
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
