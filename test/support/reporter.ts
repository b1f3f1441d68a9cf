/**
 * What mocha's `spec` reporter shows, and as the very last line `N passed, N failed`, with `, N skipped` only if any were. With
 * `--reporter-option rules=FILE` it also writes the table of the rules that were checked.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import Mocha from 'mocha';
import { renderRules, type Rule } from './rules-table.ts';

const { EVENT_RUN_END, EVENT_TEST_PASS, EVENT_TEST_FAIL, EVENT_TEST_PENDING } = Mocha.Runner.constants;
const root = resolve(import.meta.dirname, '../..');

export default class SummaryReporter extends Mocha.reporters.Spec {
  constructor(runner: Mocha.Runner, options: Mocha.MochaOptions) {
    super(runner, options);
    const rules: Rule[] = [];
    runner.on(EVENT_TEST_PASS, (test) => rules.push(toRule(test, 'held')));
    // A failing hook is reported here as well.
    runner.on(EVENT_TEST_FAIL, (test) => rules.push(toRule(test, 'broken')));
    runner.on(EVENT_TEST_PENDING, (test) => rules.push(toRule(test, 'skipped')));
    runner.once(EVENT_RUN_END, () => {
      writeRules(rules, options);
      const count = (outcome: Rule['outcome']): number => rules.filter((rule) => rule.outcome === outcome).length;
      const skipped = count('skipped') > 0 ? `, ${count('skipped')} skipped` : '';
      Mocha.reporters.Base.consoleLog(`${count('held')} passed, ${count('broken')} failed${skipped}`);
    });
  }
}

function toRule(test: Mocha.Test, outcome: Rule['outcome']): Rule {
  const { title, file = '' } = test;
  return { suite: test.fullTitle().slice(0, -title.length).trim(), title, file: relative(root, file), outcome };
}

function writeRules(rules: readonly Rule[], { reporterOptions }: Mocha.MochaOptions): void {
  const file: unknown = Object(reporterOptions)['rules'];
  if (typeof file !== 'string') return;
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, renderRules(rules));
}
