/** The output of commands, as a chapter to read, and as a shape that two runs share. */
export interface Step {
  readonly heading: string;
  /** The explanation before the commands. */
  readonly words: string;
  readonly lines: string[];
}

/** Everything that differs between runs. */
const VARIES: readonly (readonly [pattern: RegExp, shape: string])[] = [
  [/\b(acc|key|task|txt|req|tr|we|evt|del|file|rec|act|adm|usr|adc|prm)_[0-9a-z]{32}\b/g, '$1_…'],
  [/\b(sk|ga)-\S+/g, '$1-…'],
  [/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME'],
  [/\d{4}-\d\d(-\d\d)?/g, 'DAY'],
  [/\b(api|text|worker) \S+:\d+/g, 'PROCESS'],
  [/\b[0-9a-f]{12,64}\b/g, 'DIGEST'],
  [/-?\b\d+(\.\d+)?\b/g, 'N'],
  [/[ \t]+/g, ' '],
  [/[ \t]+$/gm, ''],
  // Checks of a reconciliation vary.
  [/(^\w+ N N [A-Z].*\?\n)+/gm, 'CHECKS\n'],
];

/** Two runs of the same day have the same shape. */
export function shapeOf(text: string): string {
  return VARIES.reduce((shape, [pattern, replacement]) => shape.replace(pattern, replacement), text);
}

/** The steps as Markdown. */
export function chapterOf(steps: readonly Step[]): string {
  return steps
    .map(({ heading, words, lines }) => [`## ${heading}`, words, ['```', ...lines, '```'].join('\n')].join('\n\n'))
    .join('\n\n');
}

const BEGIN = '<!-- The day begins: written by `GENWAY_WRITE_DAY=1 npx mocha test/operations/day.slow.test.ts`. -->';
const END = '<!-- The day ends. -->';

/** The chapter in a document. @throws Error if it has none */
export function chapterIn(document: string): string {
  const [begin, end] = [document.indexOf(BEGIN), document.indexOf(END)];
  if (begin < 0 || end < 0) throw new Error('the document has no marks between which the day stands');
  return document.slice(begin + BEGIN.length, end).trim();
}

/** The document with another chapter. */
export function withChapter(document: string, chapter: string): string {
  return document.replace(chapterIn(document) || `${BEGIN}\n\n${END}`, () =>
    chapterIn(document) === '' ? `${BEGIN}\n\n${chapter}\n\n${END}` : chapter,
  );
}
