import { setTimeout as sleep } from 'node:timers/promises';

interface CacheSettings {
  readonly forMs: number;
  /** Above this number the oldest entry is dropped. */
  readonly maxEntries: number;
  /** For this much longer, an expired result replaces a result that fails or is slow. 0 by default. */
  readonly staleForMs?: number;
}

interface Entry<Result> {
  readonly answer: Promise<Result>;
  until: number;
  staleUntil: number;
}

/** A result that takes longer is slow. */
const SLOW_MS = 100;

/**
 * Caches the results of a function for a short time, by its one argument. Concurrent calls share one result; failures
 * are not cached.
 */
export function cached<Result>(
  compute: (argument: string) => Promise<Result>,
  { forMs, maxEntries, staleForMs = 0 }: CacheSettings,
): (argument: string) => Promise<Result> {
  const entries = new Map<string, Entry<Result>>();
  return (argument) => {
    const now = Date.now();
    const known = entries.get(argument);
    if (known && known.until > now) return known.answer;
    const fresh = compute(argument);
    const stale = known && known.staleUntil > now ? known : null;
    const answer = stale ? freshOrStale(fresh, stale.answer) : fresh;
    const entry = { answer, until: now + forMs, staleUntil: stale?.staleUntil ?? 0 };
    entries.delete(argument);
    entries.set(argument, entry);
    const oldest = entries.keys().next();
    if (entries.size > maxEntries && !oldest.done) entries.delete(oldest.value);
    fresh.then(
      () => (entry.staleUntil = now + forMs + staleForMs),
      () => {
        entry.until = 0;
        if (!stale && entries.get(argument) === entry) entries.delete(argument);
      },
    );
    return answer;
  };
}

function freshOrStale<Result>(fresh: Promise<Result>, stale: Promise<Result>): Promise<Result> {
  return Promise.race([fresh.catch(() => stale), sleep(SLOW_MS, undefined, { ref: false }).then(() => stale)]);
}
