/** SIGKILL. */
import type { Role } from '../../stack/member.ts';
import { type FaultKind, membersOf, seconds, strikeOne } from './fault.ts';

const LONGEST_DOWN_MS = 4_000;

/** @returns the kill of one process of the role, which is started again after a while */
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
