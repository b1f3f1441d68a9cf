/** Deadlines that pass while nothing can notice that a render ended before them. */
import type { Role } from '../../stack/member.ts';
import { type FaultKind, seconds, strikeRole } from './fault.ts';

const ROLES: readonly Role[] = ['worker', 'temporal'];

export const LATE: FaultKind = {
  meaning: 'all workers, or Temporal, are killed, and away while deadlines pass',
  leastMs: 12_000,
  mostMs: 25_000,
  strike: (stage, random, lastsMs) => {
    const role = random.pick(ROLES);
    return strikeRole(stage, role, async (victims) => {
      await Promise.all(victims.map((victim) => victim.kill(lastsMs)));
      return `killed every ${role} for ${seconds(lastsMs)}`;
    });
  },
};
