/** How evenly long work is divided into steps, on a machine that has other things to do. */
import type { Steps } from '../../text/json/steps.ts';

const ATTEMPTS = 4;
const SMALL = 0.2;

/**
 * The share of the longest step in all of the work: 1 where it is done in one piece. Measured as time of the processor; of all
 * attempts the one that was disturbed least.
 *
 * @param begin begins the work anew
 */
export function longestStepShare(begin: () => Steps<unknown>): number {
  let share = 1;
  for (let attempt = 0; attempt < ATTEMPTS && share > SMALL; attempt += 1) share = Math.min(share, shareOf(begin()));
  return share;
}

function shareOf(steps: Steps<unknown>): number {
  let longest = 0;
  let total = 0;
  for (let done = false; !done;) {
    const before = process.cpuUsage();
    done = steps.next().done === true;
    const { user, system } = process.cpuUsage(before);
    longest = Math.max(longest, user + system);
    total += user + system;
  }
  return longest / total;
}
