/** SIGSTOP, and SIGCONT after a while: the process is there, and does nothing. */
import { type FaultKind, seconds, strikeOne } from './fault.ts';
import type { Role } from '../../stack/member.ts';

const ROLES: readonly Role[] = ['api', 'text', 'worker'];

export const FREEZE: FaultKind = {
  meaning: 'one of api, text and worker stands still (SIGSTOP), then goes on',
  leastMs: 5_000,
  mostMs: 20_000,
  strike: (stage, random, lastsMs) => {
    const role = random.pick(ROLES);
    const ofRole = stage.members.filter((member) => member.role === role);
    return strikeOne(stage, random, ofRole, async (victim) => {
      await victim.suffer('freeze', () => victim.freeze(lastsMs));
      return `froze ${victim.name} for ${seconds(lastsMs)}`;
    });
  },
};
