import { expect } from 'chai';
import { HANGS, HOLDS, runTests } from '../../support/test-runs.ts';

describe('a run of tests that hangs', () => {
  it('names and kills the hanging process or the whole run, and fails', async () => {
    const [hanging, tooLong] = await Promise.all([
      runTests('--silence-s=15', HANGS, HOLDS),
      runTests('--limit-s=25', HANGS),
    ]);
    expect(hanging).to.include({ exit: 1, lastLine: '1 passed, 1 failed' });
    expect(hanging.output).to.match(
      new RegExp(`process \\d+ hangs and is killed; .* since ${HANGS}: before the first test`),
    );
    expect(hanging.output).to.contain(`Uncaught error outside test suite in ${HANGS}`);
    expect(tooLong).to.include({ exit: 1, lastLine: '0 passed, 1 failed' });
    expect(tooLong.output).to.match(new RegExp(`the run has not finished within 25 s.*\n.* for \\d+ s: ${HANGS}`));
  });
});
