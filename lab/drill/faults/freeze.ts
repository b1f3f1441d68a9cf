/** SIGSTOP, and SIGCONT after a while: the process exists, and does nothing. */
import type { Random } from '../random.ts';
import { AROUND_LEASE, type FaultKind, membersOf, seconds, type Stage, strikeOne } from './fault.ts';
import type { Role } from '../../stack/member.ts';

const ROLES: readonly Role[] = ['api', 'text', 'worker'];

export const FREEZE: FaultKind = {
  meaning: 'one of api, text and worker stands still (SIGSTOP), then goes on',
  leastMs: 5_000,
  mostMs: 20_000,
  strike: (stage, random, lastsMs) => freezeOne(stage, random, random.pick(ROLES), lastsMs),
};

/** Its allowances are neither spent twice nor lost, whether or not the others take the process for dead. */
export const TEXT_FREEZE: FaultKind = {
  ...AROUND_LEASE,
  meaning: 'a text process stands still for less or more than its lease, while others serve its accounts',
  strike: (stage, random, lastsMs) => freezeOne(stage, random, 'text', lastsMs),
};

/** The other node and clients see it as disconnected, although its connections stay open. */
export const NODE_FREEZE: FaultKind = {
  meaning: 'a node of Temporal stands still, and then goes on with what others have taken over',
  only: 'cluster',
  leastMs: 5_000,
  mostMs: 30_000,
  strike: (stage, random, lastsMs) => freezeOne(stage, random, 'temporal', lastsMs),
};

function freezeOne(stage: Stage, random: Random, role: Role, lastsMs: number): Promise<string> {
  return strikeOne(stage, random, membersOf(stage, role), async (victim) => {
    await victim.suffer('freeze', () => victim.freeze(lastsMs));
    return `froze ${victim.name} for ${seconds(lastsMs)}`;
  });
}
