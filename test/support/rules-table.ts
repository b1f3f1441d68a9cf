/** The rules that a run of the tests checked, each with its test, as a page: the rules are the titles of the tests. */

export interface Rule {
  /** The subject: the titles of the suites around the test. */
  readonly suite: string;
  readonly title: string;
  /** The file of the test, from the root on. */
  readonly file: string;
  readonly outcome: 'held' | 'broken' | 'skipped';
}

const INTRODUCTION = `# Rules and their tests

Every rule that this run of the tests checked. \`npm test -- --all\` also checks the rules of slow files, whose names end in \`.slow.test.ts\`.
`;

/** The page: a heading for each room, and in it a table for each file. */
export function renderRules(rules: readonly Rule[]): string {
  const files = [...new Set(rules.map(({ file }) => file))].toSorted();
  const lines = files.flatMap((file, index) => {
    const heading = roomOf(file) === roomOf(files[index - 1]) ? [] : [`## ${roomOf(file)}`, ''];
    const table = renderTable(rules.filter((rule) => rule.file === file));
    const slow = file.endsWith('.slow.test.ts') ? ' (slow)' : '';
    return [...heading, `### [${file}](../${file})${slow}`, '', ...table, ''];
  });
  return [INTRODUCTION, ...lines].join('\n');
}

/** `test/db/queries/x.test.ts` is a test of the room `db`. */
function roomOf(file = ''): string {
  const [, room = '', ...rest] = file.split('/');
  return rest.length > 0 ? room : 'the project';
}

function renderTable(rules: readonly Rule[]): string[] {
  const rows = rules.map(({ suite, title, outcome }, index) => {
    const about = suite === rules[index - 1]?.suite ? '' : escaped(suite);
    return `| ${about} | ${escaped(title)} | ${outcome} |`;
  });
  return ['| about | rule | this run |', '| --- | --- | --- |', ...rows];
}

/** Titles are plain text, without meaning in Markdown. */
function escaped(text: string): string {
  return text.replace(/[\\`*_[\]<>|~]/g, String.raw`\$&`).replace(/\s+/g, ' ');
}
