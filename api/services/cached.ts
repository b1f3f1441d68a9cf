/**
 * Caches the results of a function for a short time, by its one argument. Concurrent calls share one result; failures
 * are not cached.
 *
 * @param maxEntries above this number the oldest entry is dropped
 */
export function cached<Result>(
  ask: (argument: string) => Promise<Result>,
  { forMs, maxEntries }: { forMs: number; maxEntries: number },
): (argument: string) => Promise<Result> {
  const entries = new Map<string, { readonly answer: Promise<Result>; readonly until: number }>();
  return (argument) => {
    const now = Date.now();
    const known = entries.get(argument);
    if (known && known.until > now) return known.answer;
    const answer = ask(argument);
    const entry = { answer, until: now + forMs };
    entries.delete(argument);
    entries.set(argument, entry);
    const oldest = entries.keys().next();
    if (entries.size > maxEntries && !oldest.done) entries.delete(oldest.value);
    answer.catch(() => {
      if (entries.get(argument) === entry) entries.delete(argument);
    });
    return answer;
  };
}
