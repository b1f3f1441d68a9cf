import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { transformSync } from 'esbuild';
import * as fc from 'fast-check';

const ROOT = join(import.meta.dirname, '..');
/** The folders of the product and of its packages. Tools for developers read no foreign text. */
const FOLDERS = [
  'api',
  'catalogue',
  'clients/typescript/src',
  'console',
  'db',
  'domain',
  'net',
  'providers',
  'storage',
  'telemetry',
  'temporal',
  'text',
];

/** A literal after a sign that no operand precedes. */
const LITERAL = /(?<=[(,=:[!&|?{};]\s*|return )\/(?![*/])((?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+)\/([dgimsuvy]*)/g;

const LENGTH = 16_000;
const SAMPLES = 1;
const MAX_SAMPLE_LENGTH = 12;
const ATTEMPTS = 3;
/** Linear time is less than a millisecond; quadratic time is hundreds. */
const MOST_CPU_MS = 100;
/** Also repeated where the expression does not mention them. */
const USUAL = [' ', '\t', '\n', 'a', 'A', '0', '.', '/', '-', ',', ';', '"', '\\', '€', '汉'];

function sourceFiles(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.tsx?$/.test(file))
    .map((file) => join(folder, file));
}

/** The code without types, comments and markup. */
function codeOf(file: string): string {
  const source = readFileSync(join(ROOT, file), 'utf8');
  return transformSync(source, { loader: file.endsWith('x') ? 'tsx' : 'ts', target: 'esnext' }).code;
}

/** Each regular expression of the sources, with the first file that has it. */
function expressions(): Map<string, { readonly file: string; readonly expression: RegExp }> {
  const found = new Map<string, { file: string; expression: RegExp }>();
  for (const file of FOLDERS.flatMap(sourceFiles)) {
    for (const [, pattern = '', flags = ''] of codeOf(file).matchAll(LITERAL)) {
      const name = `/${pattern}/${flags}`;
      const expression = compiled(pattern, flags);
      if (expression !== null && !found.has(name)) found.set(name, { file, expression });
    }
  }
  return found;
}

/** Null for a part of a text that only looks like an expression. */
function compiled(pattern: string, flags: string): RegExp | null {
  try {
    return new RegExp(pattern, flags);
  } catch {
    return null;
  }
}

/** Texts that the expression matches; none if the generator does not know some part of it. */
function samplesOf({ source, flags }: RegExp): readonly string[] {
  try {
    const known = new RegExp(source, flags.replaceAll(/[giy]/g, ''));
    return fc.sample(fc.stringMatching(known, { size: '-1' }), { numRuns: SAMPLES, seed: 1 });
  } catch {
    return [];
  }
}

/** Long texts that begin as a match and then repeat a part of it, or another character, and do not end as a match. */
function* attacksOn(expression: RegExp): Generator<string> {
  const repeat = (part: string): string => part.repeat(LENGTH / part.length);
  for (const part of USUAL) yield `${repeat(part)}\0`;
  for (const sample of samplesOf(expression)) {
    for (let at = 0; at < Math.min(sample.length, MAX_SAMPLE_LENGTH); at += 1) {
      const start = sample.slice(0, at);
      yield `${start}${repeat(sample.slice(at, at + 1))}\0`;
      yield `${start}${repeat(sample.slice(at, at + 2))}\0`;
      yield `${start}${repeat(' ')}\0`;
    }
    if (sample !== '') yield `${repeat(sample)}\0`;
  }
}

function cpuMs(work: () => unknown): number {
  let best = Infinity;
  for (let attempt = 0; attempt < ATTEMPTS && best > MOST_CPU_MS; attempt += 1) {
    const before = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(before);
    best = Math.min(best, (user + system) / 1_000);
  }
  return best;
}

describe('a regular expression of the product', function () {
  this.timeout(120_000);
  const all = expressions();

  it('is found in the sources', () => {
    expect(all.size).to.be.greaterThan(200);
  });

  for (const [name, { file, expression }] of all) {
    it(`${name} in ${file} takes linear time`, () => {
      for (const attack of attacksOn(expression)) {
        const ms = cpuMs(() =>
          attack.replaceAll(new RegExp(expression.source, `${expression.flags.replaceAll(/[gy]/g, '')}g`), ''),
        );
        expect(ms, JSON.stringify(attack.slice(0, 60))).to.be.below(MOST_CPU_MS);
      }
    });
  }
});
