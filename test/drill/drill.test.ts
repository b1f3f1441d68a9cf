import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { runDrill } from '../../drill/drill.ts';
import { ROLES } from '../../drill/plan.ts';
import { describeChecks } from '../../drill/report.ts';
import { testWorkflowBundle } from '../support/services.ts';

/** A short version of `npm run drill`. */
describe('a drill', function () {
  this.timeout(400_000);
  let home: string;

  before(async () => {
    home = await mkdtemp(join(tmpdir(), 'genway-drill-'));
  });
  after(() => rm(home, { recursive: true, force: true }));

  it('kills every kind of process under load, and finds nothing lost, doubled or left over', async () => {
    const lines: string[] = [];
    const results = await runDrill(
      {
        durationMs: 8_000,
        seed: 20_261_001,
        kills: ROLES.length,
        roles: ROLES,
        copies: 1,
        createsPerSecond: 2,
        textRequestsPerSecond: 4,
        taskDeadlineMs: 30_000,
        quietMs: 120_000,
      },
      { home, workflowBundle: await testWorkflowBundle(), print: (line) => lines.push(line) },
    );
    const failed = results.filter(({ failures }) => failures.length > 0);
    expect(describeChecks(failed), lines.join('\n')).to.deep.equal([]);
    expect(lines.filter((line) => line.includes('killed'))).to.have.length(ROLES.length);
  });
});
