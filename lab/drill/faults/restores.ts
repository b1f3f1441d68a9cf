/** PostgreSQL restored to an older moment, and Temporal without its data, each with the repair of docs/backup.md. */
import { once } from 'node:events';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { waitUntil } from '../../../bin/stack/wait-until.ts';
import { copyFolder } from '../../stack/copy-folder.ts';
import type { Member, Role } from '../../stack/member.ts';
import { DRAIN_MS, type FaultKind, memberOf, membersOf, seconds, strikeAll, strikeOne } from './fault.ts';

/** Longer than any other fault takes. */
const RECOVERED_WITHIN_MS = 60_000;

const SERVING: readonly Role[] = ['api', 'text', 'worker'];

/** Loses the commits in between; clients, receivers and upstreams keep their records of them. */
export const RESTORE: FaultKind = {
  meaning: 'PostgreSQL is restored to a backup of some seconds before, and repaired as the manual says',
  only: 'development',
  leastMs: 3_000,
  mostMs: 10_000,
  strike: (stage, _random, lastsMs) =>
    strikeAll(stage, async () => {
      const postgres = memberOf(stage, 'postgres');
      const data = join(stage.home, 'postgres');
      const backup = join(stage.home, 'backup');
      const { fromMs } = await postgres.interrupt({ by: 'stop', meanwhile: () => copyFolder(data, backup) });
      await sleep(lastsMs);
      const serving = stage.members.filter(({ role }) => SERVING.includes(role));
      await whileStopped(serving, async () => {
        stage.forgotten.push({ fromMs, untilMs: Date.now() });
        await postgres.interrupt({ by: 'stop', meanwhile: () => copyFolder(backup, data) });
        await stage.genway('recover', '--terminate-unknown', '--no-files');
      });
      return `restored postgres to ${seconds(lastsMs)} before`;
    }),
};

export const WIPE: FaultKind = {
  meaning: 'Temporal loses all that it knows, and is repaired as the manual says',
  only: 'development',
  leastMs: 0,
  mostMs: 0,
  strike: (stage, random) =>
    strikeOne(stage, random, membersOf(stage, 'temporal'), async (temporal) => {
      const { fromMs, untilMs } = await temporal.interrupt({ by: 'kill', meanwhile: () => removeTemporal(stage.home) });
      // Another fault may hit PostgreSQL at that moment; then the command is run again.
      await waitUntil(() => stage.genway('recover', '--no-files'), { timeoutMs: RECOVERED_WITHIN_MS, pauseMs: 1_000 });
      return `emptied temporal; back after ${seconds(untilMs - fromMs)}`;
    }),
};

/** Runs an action while all of them are stopped, and then starts them. */
async function whileStopped(members: readonly Member[], work: () => Promise<void>): Promise<void> {
  const allStopped = new AbortController();
  const done = once(allStopped.signal, 'abort').then(work);
  let left = members.length;
  const meanwhile = (): Promise<void> => {
    left -= 1;
    if (left === 0) allStopped.abort();
    return done;
  };
  await Promise.all(members.map((member) => member.interrupt({ by: 'stop', drainMs: DRAIN_MS, meanwhile })));
}

async function removeTemporal(home: string): Promise<void> {
  const files = (await readdir(home)).filter((name) => name.startsWith('temporal.db'));
  await Promise.all(files.map((name) => rm(join(home, name))));
}
