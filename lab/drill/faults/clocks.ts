/** A machine whose clock is wrong. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Role } from '../../stack/member.ts';
import { DRAIN_MS, expectUnready, type FaultKind, membersOf, seconds, strikeOne } from './fault.ts';

const ROLES: readonly Role[] = ['api', 'text', 'worker'];
const TEN_MINUTES_MS = 600_000;

export const CLOCKS: FaultKind = {
  meaning: 'an api, text or worker process runs with a clock that is ten minutes ahead or behind',
  leastMs: 8_000,
  mostMs: 20_000,
  strike: (stage, random, lastsMs) => {
    const role = random.pick(ROLES);
    const aheadMs = random.pick([TEN_MINUTES_MS, -TEN_MINUTES_MS]);
    return strikeOne(stage, random, membersOf(stage, role), async (victim) => {
      await victim.interrupt({ by: 'stop', drainMs: DRAIN_MS, preload: [skewedClock(aheadMs)] });
      const began = performance.now();
      await expectUnready(stage, victim, 'clocks_differ');
      await sleep(Math.max(lastsMs - (performance.now() - began), 0));
      await victim.interrupt({ by: 'stop', drainMs: DRAIN_MS, preload: [] });
      const where = aheadMs > 0 ? 'ahead' : 'behind';
      return `ran ${victim.name} with a clock ten minutes ${where} for ${seconds(lastsMs)}`;
    });
  },
};

function skewedClock(aheadMs: number): string {
  return new URL(`../skewed-clock.mjs?ahead_ms=${aheadMs}`, import.meta.url).href;
}
