/** The faults of a drill and their times, which follow from the seed alone. */
import { type FaultName, FAULTS } from './faults/kinds.ts';
import type { Random } from './random.ts';

export interface PlannedFault {
  /** Counted from the start of the load. */
  readonly atMs: number;
  readonly kind: FaultName;
  readonly lastsMs: number;
}

/**
 * Spreads faults over the time, one at a random moment of each of equal slots. Every kind occurs once before one occurs
 * again; kinds that take minutes occur once, and kinds that come first occur once at the start.
 */
export function planFaults(
  random: Random,
  { faults, durationMs, kinds }: { faults: number; durationMs: number; kinds: readonly FaultName[] },
): readonly PlannedFault[] {
  const firsts = kinds.filter(isFirst).slice(0, faults);
  const others = kinds.filter((kind) => !isFirst(kind));
  const left = others.length === 0 ? 0 : faults - firsts.length;
  const slotMs = durationMs / left;
  let turns: FaultName[] = [];
  const spread = Array.from({ length: left }, (_, slot) => {
    if (turns.length === 0)
      turns = random.shuffled(slot === 0 ? others : others.filter((kind) => !FAULTS[kind].isOnce));
    const kind = turns.pop() ?? random.pick(others);
    const { leastMs, mostMs, lengthsMs } = FAULTS[kind];
    const atMs = Math.round((slot + random.next()) * slotMs);
    return { atMs, kind, lastsMs: lengthsMs ? random.pick(lengthsMs) : random.integer(leastMs, mostMs) };
  });
  return [...firsts.map((kind) => ({ atMs: 0, kind, lastsMs: 0 })), ...spread];
}

function isFirst(kind: FaultName): boolean {
  return FAULTS[kind].isFirst === true;
}
