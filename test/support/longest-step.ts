/** How evenly long work is divided into steps, on a busy machine. */
import type { Steps } from '../../text/json/steps.ts';

const ATTEMPTS = 4;
const SMALL = 0.2;

/**
 * The share of the longest step in the whole work: 1 where the work is one step. Measured as processor time; the least
 * disturbed attempt counts.
 *
 * @param begin starts the work anew
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
