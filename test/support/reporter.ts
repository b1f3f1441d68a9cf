/**
 * The output of mocha's `spec` reporter, with a last line `N passed, N failed`, and `, N skipped` if any were. With
 * `--reporter-option rules=FILE` it also writes the table of the checked rules, and with `note=TEXT` it prints a line
 * before the last.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import Mocha from 'mocha';
import { renderRules, type Rule } from './rules-table.ts';

const { EVENT_TEST_PASS, EVENT_TEST_FAIL, EVENT_TEST_PENDING } = Mocha.Runner.constants;
const root = resolve(import.meta.dirname, '../..');

export default class SummaryReporter extends Mocha.reporters.Spec {
  readonly #rules: Rule[] = [];
  readonly #settings: Mocha.MochaOptions;

  constructor(runner: Mocha.Runner, options: Mocha.MochaOptions) {
    super(runner, options);
    this.#settings = options;
    runner.on(EVENT_TEST_PASS, (test) => this.#rules.push(toRule(test, 'held')));
    // A failing hook is reported here as well, and a process that was killed, for which mocha names no file.
    runner.on(EVENT_TEST_FAIL, (test) => {
      if (test.parent?.root) test.title += ` in ${fileOf(test)}`;
      this.#rules.push(toRule(test, 'broken'));
    });
    runner.on(EVENT_TEST_PENDING, (test) => this.#rules.push(toRule(test, 'skipped')));
  }

  /** Mocha calls this at the end of the run, but also before it has reported the last of several killed processes. */
  override epilogue(): void {}

  /** Mocha calls this once, after everything has been reported. */
  override done(failures: number, end?: (failures: number) => void): void {
    super.epilogue();
    writeRules(this.#rules, this.#settings);
    const count = (outcome: Rule['outcome']): number => this.#rules.filter((rule) => rule.outcome === outcome).length;
    const note = reporterOption(this.#settings, 'note');
    if (note !== undefined) Mocha.reporters.Base.consoleLog(note);
    const skipped = count('skipped') > 0 ? `, ${count('skipped')} skipped` : '';
    Mocha.reporters.Base.consoleLog(`${count('held')} passed, ${count('broken')} failed${skipped}`);
    end?.(failures);
  }
}

function toRule(test: Mocha.Test, outcome: Rule['outcome']): Rule {
  const { title } = test;
  return { suite: test.fullTitle().slice(0, -title.length).trim(), title, file: fileOf(test), outcome };
}

function fileOf({ file = '' }: Mocha.Test): string {
  return relative(root, file);
}

function reporterOption({ reporterOptions }: Mocha.MochaOptions, name: string): string | undefined {
  const value: unknown = Object(reporterOptions)[name];
  return typeof value === 'string' ? value : undefined;
}

function writeRules(rules: readonly Rule[], settings: Mocha.MochaOptions): void {
  const file = reporterOption(settings, 'rules');
  if (file === undefined) return;
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, renderRules(rules));
}
