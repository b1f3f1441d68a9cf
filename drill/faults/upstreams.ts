/** Upstreams of media that treat their customers badly for a while. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Scenario } from '../load/scenarios.ts';
import { type FaultKind, seconds, strikeThe } from './fault.ts';

const succeeded = (directive: string): Scenario => ({ weight: 1, directive, ending: 'succeeded' });

export const DOWNLOADS = mischief(
  'downloads',
  'the results of new tasks are stalled, or their links dead at first',
  ['result=stalled', 'dead_links=2', 'result=slow'].map(succeeded),
);

export const SUBMISSIONS = mischief(
  'submissions',
  'the jobs of new tasks are accepted, and answered 500 or not at all, or unknown at first',
  ['submit_error', 'drop_submit', 'forget=3'].map(succeeded),
);

function mischief(what: string, meaning: string, scenarios: readonly Scenario[]): FaultKind {
  return {
    meaning,
    leastMs: 3_000,
    mostMs: 10_000,
    strike: (stage, random, lastsMs) =>
      // One at a time: the latter would end the former.
      strikeThe(stage, random, 'upstreams', async () => {
        const before = stage.upstreams.scenarios;
        stage.upstreams.scenarios = scenarios;
        await sleep(lastsMs);
        stage.upstreams.scenarios = before;
        return `broke the ${what} of tasks created in ${seconds(lastsMs)}`;
      }),
  };
}
