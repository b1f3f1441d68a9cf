/** What mocha's `spec` reporter shows, and as the very last line `N passed, N failed`, with `, N skipped` only if any were. */
import Mocha from 'mocha';

const { EVENT_RUN_END, EVENT_TEST_PASS, EVENT_TEST_FAIL, EVENT_TEST_PENDING } = Mocha.Runner.constants;

export default class SummaryReporter extends Mocha.reporters.Spec {
  constructor(runner: Mocha.Runner, options: Mocha.MochaOptions) {
    super(runner, options);
    const count = { passed: 0, failed: 0, skipped: 0 };
    runner.on(EVENT_TEST_PASS, () => (count.passed += 1));
    // A failing hook is reported here as well.
    runner.on(EVENT_TEST_FAIL, () => (count.failed += 1));
    runner.on(EVENT_TEST_PENDING, () => (count.skipped += 1));
    runner.once(EVENT_RUN_END, () => {
      const skipped = count.skipped > 0 ? `, ${count.skipped} skipped` : '';
      Mocha.reporters.Base.consoleLog(`${count.passed} passed, ${count.failed} failed${skipped}`);
    });
  }
}
