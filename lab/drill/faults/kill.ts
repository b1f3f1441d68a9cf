/** SIGKILL, of one process or of every process of a role. */
import type { Role } from '../../stack/member.ts';
import { type FaultKind, membersOf, seconds, strikeOne, strikeRole } from './fault.ts';

const LONGEST_DOWN_MS = 4_000;
const TEMPORAL_OUTAGE_MS = 60_000;

/** @returns the kill of one process of the role, which is restarted after a while */
export function killOf(role: Role, meaning: string): FaultKind {
  return {
    meaning,
    leastMs: 0,
    mostMs: LONGEST_DOWN_MS,
    strike: (stage, random, lastsMs) =>
      strikeOne(stage, random, membersOf(stage, role), async (victim) => {
        const { fromMs, untilMs } = await victim.kill(lastsMs);
        return `killed ${victim.name}; back after ${seconds(untilMs - fromMs)}`;
      }),
  };
}

/** The kill of every process of one of the roles. */
function killOfAll(roles: readonly Role[], bounds: Omit<FaultKind, 'strike'>): FaultKind {
  return {
    ...bounds,
    strike: (stage, random, lastsMs) => {
      const role = random.pick(roles);
      return strikeRole(stage, role, async (victims) => {
        await Promise.all(victims.map((victim) => victim.kill(lastsMs)));
        return `killed every ${role} for ${seconds(lastsMs)}`;
      });
    },
  };
}

/** Deadlines pass while no process can notice that a render ended before them. */
export const LATE = killOfAll(['worker', 'temporal'], {
  meaning: 'all workers, or Temporal, are killed, and away while deadlines pass',
  leastMs: 12_000,
  mostMs: 25_000,
});

export const TEMPORAL_OUTAGE = killOfAll(['temporal'], {
  meaning: 'all nodes of Temporal are killed, and away for a minute',
  only: 'cluster',
  leastMs: TEMPORAL_OUTAGE_MS,
  mostMs: TEMPORAL_OUTAGE_MS,
});

export const FAILOVER: FaultKind = {
  meaning: 'the primary PostgreSQL server is killed, and its standby promoted',
  only: 'cluster',
  leastMs: 0,
  mostMs: 0,
  strike: (stage) =>
    strikeRole(stage, 'postgres', async () => {
      if (!stage.failOver) throw new Error('only a cluster has a standby');
      return `killed the primary, and promoted its standby after ${seconds(await stage.failOver())}`;
    }),
};
