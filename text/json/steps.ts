/** Long work in steps, between which the process serves other requests. */

/** Work that pauses wherever it yields. */
export type Steps<Result> = Generator<void, Result, undefined>;

interface Work {
  /** @returns whether the work is complete */
  takeStep(): boolean;
}

const underWay: Work[] = [];
/** After a longer step, the next one waits for as long, so that several other requests are served in between. */
const LONG_STEP_MS = 8;

/** Does the work of all callers in turn, no more than one step per turn of the event loop. */
export function runInSteps<Result>(steps: Steps<Result>): Promise<Result> {
  return run(() => steps.next());
}

/** Does all of the work at once. */
export function runAtOnce<Result>(steps: Steps<Result>): Result {
  let step = steps.next();
  while (step.done !== true) step = steps.next();
  return step.value;
}

/** Does work that has no pause, such as copying a large body, in a turn of its own. */
export function runInTurn<Result>(work: () => Result): Promise<Result> {
  return run(() => ({ done: true, value: work() }));
}

function run<Result>(next: () => IteratorResult<void, Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    const takeStep = (): boolean => {
      try {
        const { done, value } = next();
        if (done === true) resolve(value);
        return done === true;
      } catch (error) {
        reject(error instanceof Error ? error : new Error('a step failed', { cause: error }));
        return true;
      }
    };
    underWay.push({ takeStep });
    if (underWay.length === 1) setImmediate(takeNextStep);
  });
}

function takeNextStep(): void {
  const startedAt = performance.now();
  const work = underWay[0];
  if (work?.takeStep() === false) underWay.push(work);
  underWay.shift();
  if (underWay.length === 0) return;
  const tookMs = performance.now() - startedAt;
  if (tookMs < LONG_STEP_MS) setImmediate(takeNextStep);
  else setTimeout(takeNextStep, tookMs);
}
