/** PostgreSQL that is unavailable for a while, and returns in order. */
import { setTimeout as sleep } from 'node:timers/promises';
import { createDatabase } from '../../../db/database.ts';
import { freezeProcesses } from '../../stack/freeze.ts';
import type { Member } from '../../stack/member.ts';
import { type FaultKind, membersOf, seconds, type Stage, strikeOne } from './fault.ts';

/** One second lies within a lease of a text process, and most of 20 s beyond. */
const LENGTHS_MS = [1_000, 20_000];

export const POSTGRES_PAUSE: FaultKind = {
  meaning: 'the PostgreSQL server is stopped in order, or stands still (SIGSTOP), for a second or twenty',
  only: 'development',
  leastMs: 1_000,
  mostMs: 20_000,
  lengthsMs: LENGTHS_MS,
  strike: (stage, random, lastsMs) =>
    strikeOne(stage, random, membersOf(stage, 'postgres'), async (postgres) => {
      if (random.next() < 0.5) {
        const { fromMs, untilMs } = await postgres.interrupt({ by: 'stop', meanwhile: () => sleep(lastsMs) });
        return `stopped postgres; back after ${seconds(untilMs - fromMs)}`;
      }
      await postgres.suffer('freeze', () => freezeServer(stage, postgres, lastsMs));
      return `froze postgres for ${seconds(lastsMs)}`;
    }),
};

/** Each session is a process of its own. The first process is frozen before the others, so that it starts no more of them. */
async function freezeServer({ databaseUrl }: Stage, postgres: Member, forMs: number): Promise<void> {
  const database = createDatabase(databaseUrl, 1);
  try {
    await database.raw('SELECT 1');
    const firstThawed = postgres.freeze(forMs);
    const { rows } = await database.raw<{ rows: { pid: number }[] }>('SELECT pid FROM pg_stat_activity');
    await freezeProcesses(
      rows.map(({ pid }) => pid),
      forMs,
    );
    await firstThawed;
  } finally {
    await database.destroy();
  }
}
