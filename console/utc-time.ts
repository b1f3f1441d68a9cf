/** The time of an entry field, with the time zone that browsers omit: the console shows all times in UTC. */
export function inUtc(entry: string): string {
  return /(?:Z|[+-]\d\d:\d\d)$/.test(entry) ? entry : `${entry}Z`;
}
