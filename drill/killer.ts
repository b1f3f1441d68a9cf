/** Carries out the plan: at each moment it kills one process of the role, and the process comes back. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Member } from './member.ts';
import type { Kill } from './plan.ts';
import type { Random } from './random.ts';

const PAUSE_MS = 50;

/**
 * Kills one member for each kill of the plan. One whose turn comes while all of its role are down waits until one is up.
 *
 * @returns resolves when every member that was killed is up again
 */
export async function carryOut(
  plan: readonly Kill[],
  { members, random, report }: { members: readonly Member[]; random: Random; report: (line: string) => void },
): Promise<void> {
  const beganAt = performance.now();
  const killing: Promise<void>[] = [];
  const kill = async (victim: Member, downMs: number): Promise<void> => {
    const clock = formatClock(performance.now() - beganAt);
    const { fromMs, untilMs } = await victim.kill(downMs);
    report(`${clock}  killed ${victim.name}; back after ${((untilMs - fromMs) / 1000).toFixed(1)} s`);
  };
  for (const { atMs, role, downMs } of plan) {
    await sleep(Math.max(atMs - (performance.now() - beganAt), 0));
    const ofRole = members.filter((member) => member.role === role);
    const victim = await waitForOne(() => random.shuffled(ofRole).find((member) => member.isUp()));
    killing.push(kill(victim, downMs));
  }
  await Promise.all(killing);
}

async function waitForOne(find: () => Member | undefined): Promise<Member> {
  for (;;) {
    const found = find();
    if (found) return found;
    await sleep(PAUSE_MS);
  }
}

function formatClock(milliseconds: number): string {
  const seconds = Math.floor(milliseconds / 1000);
  return `${String(Math.floor(seconds / 60)).padStart(2, '0')}:${String(seconds % 60).padStart(2, '0')}`;
}
