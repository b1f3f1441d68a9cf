import type { Steps } from '../../text/json/steps.ts';

/** Does all of the work at once. */
export function atOnce<Result>(steps: Steps<Result>): Result {
  let step = steps.next();
  while (step.done !== true) step = steps.next();
  return step.value;
}
