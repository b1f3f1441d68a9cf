/** What goes wrong when: made before the drill begins, from its seed alone. */
import { type FaultName, FAULTS } from './faults/kinds.ts';
import type { Random } from './random.ts';

export interface PlannedFault {
  /** After the beginning of the load. */
  readonly atMs: number;
  readonly kind: FaultName;
  readonly lastsMs: number;
}

/**
 * Spreads faults over the time, one at a random moment of each of equal slots, so that some come close together. Every kind
 * has its turn before one has another.
 */
export function planFaults(
  random: Random,
  { faults, durationMs, kinds }: { faults: number; durationMs: number; kinds: readonly FaultName[] },
): readonly PlannedFault[] {
  const slotMs = durationMs / faults;
  let turns: FaultName[] = [];
  return Array.from({ length: faults }, (_, slot) => {
    if (turns.length === 0) turns = random.shuffled(kinds);
    const kind = turns.pop() ?? random.pick(kinds);
    const { leastMs, mostMs } = FAULTS[kind];
    return {
      atMs: Math.round((slot + random.next()) * slotMs),
      kind,
      lastsMs: random.integer(leastMs, mostMs),
    };
  });
}
