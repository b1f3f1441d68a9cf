/** Upstreams of media that treat their customers badly for a while. */
import type { Scenario } from '../load/scenarios.ts';
import { type FaultKind, strikeThe } from './fault.ts';

export const DOWNLOADS = mischief(
  'downloads',
  'the results of new tasks are stalled, dead at first, lost or recanted',
  [
    { weight: 3, directive: 'result=stalled', ending: 'succeeded' },
    { weight: 3, directive: 'dead_links=2', ending: 'succeeded' },
    { weight: 1, directive: 'recant', ending: 'processing_failed' },
    { weight: 1, directive: 'missing_file=0', ending: 'result_transfer_failed' },
  ],
);

export const SUBMISSIONS = mischief(
  'submissions',
  'the jobs of new tasks are accepted, and answered 500 or not at all, or unknown at first',
  [
    { weight: 2, directive: 'submit_error', ending: 'succeeded' },
    { weight: 1, directive: 'drop_submit', ending: 'succeeded' },
    { weight: 1, directive: 'forget=3', ending: 'succeeded' },
  ],
);

function mischief(what: string, meaning: string, scenarios: readonly Scenario[]): FaultKind {
  return {
    meaning,
    leastMs: 3_000,
    mostMs: 10_000,
    strike: (stage, random, lastsMs) =>
      // One at a time: the latter would end the former.
      strikeThe(stage, random, { name: 'upstreams', lastsMs }, async () => {
        const before = stage.upstreams.scenarios;
        stage.upstreams.scenarios = scenarios;
        return [`broke the ${what} of new tasks`, () => (stage.upstreams.scenarios = before)];
      }),
  };
}
