import { expect } from 'chai';
import { runDrill } from '../../../lab/drill/drill.ts';
import { type FaultName } from '../../../lab/drill/faults/kinds.ts';
import { describeChecks } from '../../../lab/drill/report.ts';
import { testBuild } from '../../support/services.ts';
import { useTestFolder } from '../../support/started.ts';

/** The faults that take little time. */
const KINDS: readonly FaultName[] = [
  'api',
  'text',
  'worker',
  'temporal',
  'postgres',
  'silence',
  'cut',
  'lost',
  'months',
  'store',
  'realtime',
];

/** A short version of `npm run drill`. */
describe('a drill', function () {
  this.timeout(400_000);
  const home = useTestFolder();

  it('Genway survives every kind of kill and other faults under load without a loss, a duplicate or a leftover', async () => {
    const lines: string[] = [];
    const results = await runDrill(
      {
        durationMs: 8_000,
        seed: 20_261_001,
        isCluster: false,
        faults: KINDS.length,
        kinds: KINDS,
        copies: 1,
        textProcesses: 1,
        createsPerSecond: 2,
        textRequestsPerSecond: 4,
        batchClients: 1,
        realtimeSessions: 8,
        taskDeadlineMs: 30_000,
        quietMs: 120_000,
      },
      { home, built: await testBuild(), print: (line) => lines.push(line) },
    );
    const failed = results.filter(({ failures }) => failures.length > 0);
    expect(describeChecks(failed), lines.join('\n')).to.deep.equal([]);
    const strokes = lines.filter((line) => /^(\d\d:\d\d|first) /.test(line));
    // The month starts twice.
    expect(strokes, strokes.join('\n')).to.have.length(KINDS.length + 1);
  });
});
