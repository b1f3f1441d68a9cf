import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { ONE_REGION, renderTable, tableOf } from '../../lab/bench/region.ts';

const page = readFileSync(join(import.meta.dirname, '../../docs/scale.md'), 'utf8');

describe('docs/scale.md', () => {
  it('has the table that the calculation gives', () => {
    const cells = (table: string) => table.split('\n').map((line) => line.replaceAll(/\s*\|\s*|-{3,}/g, '|'));
    const written = page.split('\n').filter((line) => line.startsWith('|'));
    expect(cells(written.join('\n'))).to.include.members(cells(renderTable(ONE_REGION)));
  });

  it('needs more as the load grows', () => {
    const twice = tableOf({ textRequestsPerSecond: 20_000, createsPerSecond: 2_000, runningTasks: 200_000 });
    const textProcesses = twice.find(([what]) => what === 'text processes');
    expect(textProcesses?.[2]).to.equal('11');
  });
});
