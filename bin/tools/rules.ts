/**
 * Writes `docs/rules.md`: which test holds which rule of the contract. The rules are the titles of the tests.
 *
 * Usage: npm run rules               writes the page
 *        npm run rules -- --check    fails when the page misses a rule that is tested, or names one that is not
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { startProcess } from '../stack/child-process.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const PAGE = join(ROOT, 'docs/rules.md');
const MOCHA = join(ROOT, 'node_modules/mocha/bin/mocha.js');

/** The areas of the contract and the tests of each, by how their paths begin. A test is in the first that fits. */
const AREAS: readonly (readonly [title: string, paths: readonly string[]])[] = [
  ['The document of the API', ['api/openapi/']],
  [
    'Creating and polling media tasks',
    [
      'api/routes/create-tasks',
      'api/routes/videos/',
      'api/routes/images/',
      'api/routes/tasks/',
      'api/services/',
      'api/validation',
    ],
  ],
  [
    'How media tasks run',
    [
      'workflows/media-task',
      'workflows/crashes',
      'workflows/replay',
      'providers/http-jobs',
      'providers/moderation',
      'providers/upstreams',
      'domain/task',
    ],
  ],
  [
    'Sizes of images and videos',
    ['domain/image-size', 'domain/video-size', 'storage/media-inspector', 'storage/media/matches-request'],
  ],
  ['Files', ['api/routes/files/', 'storage/']],
  ['Models and prices', ['api/routes/models/', 'catalogue/', 'domain/pricing']],
  ['Text', ['api/text/', 'text/', 'providers/text/']],
  ['Authentication, limits and errors', ['api/middlewares/', 'api/routes/hostile', 'domain/errors', 'domain/ids']],
  ['Webhooks', ['api/routes/webhooks/', 'webhooks/', 'workflows/webhook-delivery', 'scripts/soak/']],
  [
    'Money',
    [
      'domain/money',
      'domain/rational',
      'db/',
      'workflows/reconciliation',
      'api/exports',
      'api/routes/admin/finance',
      'api/routes/admin/reconciliations',
      'api/routes/balance/',
      'api/routes/usage/',
      'api/routes/payment-events/',
      'bin/command/finance',
    ],
  ],
  [
    'Operating the gateway',
    [
      'api/routes/admin/',
      'api/routes/health/',
      'api/routes/provider-callbacks/',
      'bin/',
      'compose',
      'config',
      'drill/',
      'ops/',
      'telemetry/',
      'workflows/deployments',
    ],
  ],
  ['The simulated models', ['simulator/']],
];

const INTRODUCTION = `# Rules and their tests

What Genway promises, and the test that holds it. The rules are the titles of the tests; this page is made from them by
\`npm run rules\`, and \`npm run rules -- --check\` tells whether it is current.

<!-- prettier-ignore-start -->
`;

interface Rule {
  /** What the rule is about: the titles of the suites around the test. */
  readonly suite: string;
  readonly title: string;
  /** From the folder of the tests on. */
  readonly file: string;
}

const rows = renderRows(await collectRules());
if (process.argv.includes('--check')) process.exitCode = (await isCurrent(rows)) ? 0 : 1;
else await writeFile(PAGE, `${INTRODUCTION}\n${rows.join('\n')}\n\n<!-- prettier-ignore-end -->\n`);

/** All tests, without running them. */
async function collectRules(): Promise<Rule[]> {
  const folder = await mkdtemp(join(tmpdir(), 'genway-rules-'));
  try {
    const report = join(folder, 'report.json');
    const options = ['--dry-run', '--exit', '--reporter', 'json', '--reporter-option', `output=${report}`];
    const lines: string[] = [];
    const mocha = await startProcess({
      command: process.execPath,
      args: [MOCHA, ...options, join(ROOT, 'test/**/*.test.ts')],
      output: (line) => void lines.push(line),
    });
    if ((await mocha.exited) !== 0) throw new Error(`the tests cannot be read:\n${lines.join('\n')}`);
    return readReport(JSON.parse(await readFile(report, 'utf8')));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

interface MochaReport {
  readonly tests: readonly { readonly title: string; readonly fullTitle: string; readonly file: string }[];
}

function readReport({ tests }: MochaReport): Rule[] {
  return tests.map(({ title, fullTitle, file }) => ({
    suite: fullTitle.slice(0, -title.length).trim(),
    title,
    file: file.slice(join(ROOT, 'test/').length),
  }));
}

/** The lines of the page: a heading and a table for each area. */
function renderRows(rules: readonly Rule[]): string[] {
  const areaOf = (rule: Rule) => AREAS.find(([, paths]) => paths.some((path) => rule.file.startsWith(path)));
  return AREAS.flatMap((area) => {
    const own = rules.filter((rule) => areaOf(rule) === area);
    const lines = own.map((rule, index) => renderRule(rule, rule.suite !== own[index - 1]?.suite));
    return ['', `## ${area[0]}`, '', '| what | rule | test |', '| --- | --- | --- |', ...lines];
  }).slice(1);
}

function renderRule({ suite, title, file }: Rule, isFirst: boolean): string {
  return `| ${isFirst ? escaped(suite) : ''} | ${escaped(title)} | [${file}](../test/${file}) |`;
}

/** Titles are text, whatever Markdown would make of them. */
function escaped(text: string): string {
  return text.replace(/[\\`*_[\]<>|~]/g, String.raw`\$&`).replace(/\s+/g, ' ');
}

/** Compares the rules alone, in any order, and tells the differences. */
async function isCurrent(rows: readonly string[]): Promise<boolean> {
  const page = (await readFile(PAGE, 'utf8')).split('\n');
  const [written, tested] = [page, rows].map((lines) => new Set(lines.filter(isRule).map(ruleOf)));
  const missing = [...(tested ?? [])].filter((rule) => !written?.has(rule));
  const stale = [...(written ?? [])].filter((rule) => !tested?.has(rule));
  for (const rule of missing) console.log(`is tested, but not in docs/rules.md: ${rule}`);
  for (const rule of stale) console.log(`is in docs/rules.md, but not tested: ${rule}`);
  if (missing.length + stale.length > 0) console.log('Run `npm run rules`.');
  return missing.length + stale.length === 0;
}

function isRule(line: string): boolean {
  return line.endsWith('.test.ts) |');
}

/** The rule and its test, without what stands in the first column of the first of a suite only. */
function ruleOf(line: string): string {
  return line.slice(line.indexOf(' | ') + 3);
}
