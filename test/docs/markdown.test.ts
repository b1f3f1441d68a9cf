import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { expect } from 'chai';

const ROOT = join(import.meta.dirname, '../..');
const FOLDERS = ['clients', 'deploy', 'docs', 'lab'];

function documents(): string[] {
  const inFolders = FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file)),
  );
  const files = [...readdirSync(ROOT), ...inFolders];
  return files.filter((file) => file.endsWith('.md') && !file.includes('node_modules')).map((file) => join(ROOT, file));
}

/** The text without blocks of code. */
function proseOf(document: string): string {
  return readFileSync(document, 'utf8').replaceAll(/^```[^]*?^```/gm, '');
}

/** The anchors that GitHub gives to the headings of a document. */
function anchorsOf(document: string): Set<string> {
  const headings = [...proseOf(document).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => heading);
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\w -]/g, '')
        .replaceAll(' ', '-'),
    ),
  );
}

/** The links of a document to files and headings that do not exist. */
function brokenLinksOf(document: string): string[] {
  const links = [...proseOf(document).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link);
  return links.filter((link) => {
    if (/^[a-z]+:/.test(link)) return false;
    const [path = '', anchor] = link.split('#');
    const target = path === '' ? document : join(dirname(document), path);
    if (!existsSync(target)) return true;
    return anchor !== undefined && target.endsWith('.md') && !anchorsOf(target).has(anchor);
  });
}

/** The rows of tables that have another number of cells than the row above them. */
function unevenRowsOf(document: string): string[] {
  const lines = proseOf(document).split('\n');
  const cellsOf = (line = ''): number => (line.startsWith('|') ? line.split(/(?<!\\)\|/).length : 0);
  return lines.filter((line, index) => {
    const above = cellsOf(lines[index - 1]);
    return above > 0 && cellsOf(line) > 0 && cellsOf(line) !== above;
  });
}

/** What a check finds, after the name of the document. */
function findingsOf(check: (document: string) => string[]): string[] {
  return documents().flatMap((document) => check(document).map((found) => `${relative(ROOT, document)}: ${found}`));
}

describe('the documents', () => {
  it('link to files and headings that exist', () => {
    expect(findingsOf(brokenLinksOf)).to.deep.equal([]);
  });

  it('have the same number of cells in all rows of a table', () => {
    expect(findingsOf(unevenRowsOf)).to.deep.equal([]);
  });
});
