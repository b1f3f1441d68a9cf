/** PostgreSQL stores neither NUL characters nor unpaired surrogates. */
export function isStorable(text: string): boolean {
  return !text.includes('\0') && !/\p{Surrogate}/u.test(text);
}
