/**
 * Returns the start of a text, at most `maxLength` code units. A surrogate pair is not cut in half: PostgreSQL and
 * other readers refuse JSON with an unpaired surrogate.
 */
export function cutText(text: string, maxLength: number): string {
  return text.length <= maxLength ? text : text.slice(0, maxLength).replace(/[\ud800-\udbff]$/, '');
}
