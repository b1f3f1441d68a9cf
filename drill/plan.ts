/** Who is killed when: made before the drill begins, from its seed alone. */
import type { Random } from './random.ts';

/** What can be killed. The relay runs in the api processes and dies with them. */
export const ROLES = ['api', 'text', 'worker', 'temporal', 'postgres'] as const;

export type Role = (typeof ROLES)[number];

export interface Kill {
  /** After the beginning of the load. */
  readonly atMs: number;
  readonly role: Role;
  /** How long nobody brings the process back. */
  readonly downMs: number;
}

const LONGEST_DOWN_MS = 4_000;

/**
 * Spreads kills over the time, one at a random moment of each of equal slots, so that some come close together. Every role
 * has its turn before one has another.
 */
export function planKills(
  random: Random,
  { kills, durationMs, roles }: { kills: number; durationMs: number; roles: readonly Role[] },
): readonly Kill[] {
  const slotMs = durationMs / kills;
  let turns: Role[] = [];
  return Array.from({ length: kills }, (_, slot) => {
    if (turns.length === 0) turns = random.shuffled(roles);
    return {
      atMs: Math.round((slot + random.next()) * slotMs),
      role: turns.pop() ?? random.pick(roles),
      downMs: random.integer(0, LONGEST_DOWN_MS),
    };
  });
}
