/** Counts requests by the name that their prompts give them: the directive `mark` of docs/simulator.md. */

const MAX_NAMES = 200_000;

export interface MarkCounts {
  add(name: string): void;
  /** How many requests have each name. */
  readonly counts: ReadonlyMap<string, number>;
}

/** Counts requests, and forgets the oldest of more than 200,000 names. */
export function createMarkCounts(maxNames = MAX_NAMES): MarkCounts {
  const counts = new Map<string, number>();
  return {
    counts,
    add(name) {
      counts.set(name, (counts.get(name) ?? 0) + 1);
      const [oldest] = counts.size > maxNames ? counts.keys() : [];
      if (oldest !== undefined) counts.delete(oldest);
    },
  };
}
