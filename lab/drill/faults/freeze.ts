/** SIGSTOP, and SIGCONT after a while: the process is there, and does nothing. */
import type { Random } from '../random.ts';
import { AROUND_LEASE, type FaultKind, seconds, type Stage, strikeOne } from './fault.ts';
import type { Role } from '../../stack/member.ts';

const ROLES: readonly Role[] = ['api', 'text', 'worker'];

export const FREEZE: FaultKind = {
  meaning: 'one of api, text and worker stands still (SIGSTOP), then goes on',
  leastMs: 5_000,
  mostMs: 20_000,
  strike: (stage, random, lastsMs) => freezeOne(stage, random, random.pick(ROLES), lastsMs),
};

/** Whose money in allowances is neither spent twice nor lost, whether or not the others take the process for dead. */
export const TEXT_FREEZE: FaultKind = {
  ...AROUND_LEASE,
  meaning: 'a text process stands still for less or more than its lease, while others serve its accounts',
  strike: (stage, random, lastsMs) => freezeOne(stage, random, 'text', lastsMs),
};

function freezeOne(stage: Stage, random: Random, role: Role, lastsMs: number): Promise<string> {
  const ofRole = stage.members.filter((member) => member.role === role);
  return strikeOne(stage, random, ofRole, async (victim) => {
    await victim.suffer('freeze', () => victim.freeze(lastsMs));
    return `froze ${victim.name} for ${seconds(lastsMs)}`;
  });
}
