/**
 * The beginning of a text, of at most so many code units. A character of two is not cut in half: PostgreSQL refuses JSON with an
 * unpaired surrogate, and so do other readers.
 */
export function cutText(text: string, maxLength: number): string {
  return text.length <= maxLength ? text : text.slice(0, maxLength).replace(/[\ud800-\udbff]$/, '');
}
