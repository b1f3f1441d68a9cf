/** Names of browsers and systems. */

/** The marks in `User-Agent`. The first match counts: browsers also name other browsers. */
const BROWSERS = [
  ['Edg/', 'Edge'],
  ['OPR/', 'Opera'],
  ['Firefox/', 'Firefox'],
  ['Chrome/', 'Chrome'],
  ['Safari/', 'Safari'],
] as const;
const SYSTEMS = [
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['Android', 'Android'],
  ['Windows', 'Windows'],
  ['Mac OS X', 'macOS'],
  ['Linux', 'Linux'],
] as const;

/** Returns a name such as `Firefox, Linux`, or null for an unknown device. */
export function deviceOf(userAgent: string): string | null {
  const nameIn = (names: typeof BROWSERS | typeof SYSTEMS): string | undefined =>
    names.find(([mark]) => userAgent.includes(mark))?.[1];
  const known = [nameIn(BROWSERS), nameIn(SYSTEMS)].filter((name) => name !== undefined);
  return known.length === 0 ? null : known.join(', ');
}
