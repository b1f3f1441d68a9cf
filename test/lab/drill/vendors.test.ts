import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { describeChecks } from '../../../lab/drill/report.ts';
import { runVendorDrill } from '../../../lab/drill/vendors/drill.ts';
import { testBuild } from '../../support/services.ts';

/** A short version of `npm run drill -- --vendors`. */
describe('a drill of vendors', function () {
  this.timeout(400_000);
  let home: string;

  before(async () => {
    home = await mkdtemp(join(tmpdir(), 'genway-drill-'));
  });
  after(() => rm(home, { recursive: true, force: true }));

  it('bears faults of each, and a kill of the worker inside a submission to each, with one render a task', async () => {
    const lines: string[] = [];
    const results = await runVendorDrill(
      { seed: 20_261_122, copies: 0, kills: 1, loadPerKill: 6, taskDeadlineMs: 120_000, quietMs: 180_000 },
      { home, built: await testBuild(), print: (line) => lines.push(line) },
    );
    const failed = results.filter(({ failures }) => failures.length > 0);
    expect(describeChecks(failed), lines.join('\n')).to.deep.equal([]);
  });
});
