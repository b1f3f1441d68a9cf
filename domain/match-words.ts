/** How well a text matches free words. */

/** Words that say nothing about what is wanted. */
const STOP_WORDS: ReadonlySet<string> = new Set(
  'a an and any at by can for from give i in into is it make me model my of on or please that the to want which with you'.split(
    ' ',
  ),
);
/** More words of a query do not tell texts apart. */
const MAX_WORDS = 40;

/** The share of a query's words that a text has, from 0 to 1; 1 for a query that says nothing. */
export function matchShare(query: string, text: string): number {
  const wanted = wordsOf(query)
    .filter((word) => !STOP_WORDS.has(word))
    .slice(0, MAX_WORDS);
  if (wanted.length === 0) return 1;
  const words = wordsOf(text);
  const matches = wanted.filter((word) => words.some((known) => areForms(word, known)));
  return matches.length / wanted.length;
}

/** Whether two words are forms of one, as `videos` and `video` or `animate` and `animates`. */
function areForms(one: string, other: string): boolean {
  const [short, long] = one.length < other.length ? [one, other] : [other, one];
  return one === other || (short.length >= 4 && long.startsWith(short) && long.length - short.length <= 3);
}

function wordsOf(text: string): string[] {
  return text
    .toLowerCase()
    .split(/[^\p{L}\p{N}.]+/u)
    .filter((word) => word !== '');
}
