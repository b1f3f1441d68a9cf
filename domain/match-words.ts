/** Scores how well a text matches the words of a query. */

/** Words without meaning for the search. */
const STOP_WORDS: ReadonlySet<string> = new Set(
  'a an and any at by can for from give i in into is it make me model my of on or please that the to want which with you'.split(
    ' ',
  ),
);
/** The words of a query that count; further words do not change the ranking. */
const MAX_WORDS = 40;

/** The share of a query's words that a text has, from 0 to 1; 1 for a query of stop words only. */
export function matchShare(query: string, text: string): number {
  const wanted = wordsOf(query)
    .filter((word) => !STOP_WORDS.has(word))
    .slice(0, MAX_WORDS);
  if (wanted.length === 0) return 1;
  const words = wordsOf(text);
  const matches = wanted.filter((word) => words.some((known) => areForms(word, known)));
  return matches.length / wanted.length;
}

/** Whether two words are forms of one word, such as `videos` and `video` or `animate` and `animates`. */
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
