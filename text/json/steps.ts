/** Long work in steps, between which the process serves other requests. */

/** Work that pauses wherever it yields. */
export type Steps<Result> = Generator<void, Result, undefined>;

interface Work {
  /** @returns whether the work is complete */
  takeStep(): boolean;
}

const underWay: Work[] = [];

/** Does the work of all callers in turn, no more than one step per turn of the event loop. */
export function runInSteps<Result>(steps: Steps<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    const takeStep = (): boolean => {
      try {
        const { done, value } = steps.next();
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

/** Does work that has no pause, such as copying a large body, in a turn of its own. */
export function runInTurn<Result>(work: () => Result): Promise<Result> {
  return runInSteps(
    (function* (): Steps<Result> {
      yield;
      return work();
    })(),
  );
}

function takeNextStep(): void {
  const work = underWay.shift();
  if (work?.takeStep() === false) underWay.push(work);
  if (underWay.length > 0) setImmediate(takeNextStep);
}
