/** How evenly long work is divided into steps, on a busy machine. */
import type { Steps } from '../../text/json/steps.ts';

const ATTEMPTS = 8;
const SMALL = 0.2;

/**
 * The share of the longest step in the whole work: 1 where the work is one step. Measured as processor time. The work
 * has the same steps in each attempt, so each step counts by its shortest time: the collector's pauses fall elsewhere.
 *
 * @param begin starts the work anew
 */
export function longestStepShare(begin: () => Steps<unknown>): number {
  let shortest: number[] = [];
  for (let attempt = 0; attempt < ATTEMPTS && shareOfLongest(shortest) > SMALL; attempt += 1) {
    const times = timesOfSteps(begin());
    shortest = times.map((time, step) => Math.min(time, shortest[step] ?? time));
  }
  return shareOfLongest(shortest);
}

function shareOfLongest(times: readonly number[]): number {
  return times.length === 0 ? 1 : Math.max(...times) / times.reduce((total, time) => total + time, 0);
}

function timesOfSteps(steps: Steps<unknown>): number[] {
  const times: number[] = [];
  for (let done = false; !done;) {
    const before = process.cpuUsage();
    done = steps.next().done === true;
    const { user, system } = process.cpuUsage(before);
    times.push(user + system);
  }
  return times;
}
