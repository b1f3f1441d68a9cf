/** The words of a text, for tables of short cases without blanks. */
export function words(text: string): string[] {
  return text.trim().split(/\s+/);
}
