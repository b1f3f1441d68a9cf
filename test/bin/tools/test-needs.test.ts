import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { readTestNeeds, type Tier } from '../../../bin/tools/test-needs.ts';
import { type Import, findTransitiveImports } from '../../../bin/tools/imports.ts';

const files = readdirSync('test', { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.test.ts'))
  .map((file) => join('test', file));

describe('the needs of a test file', () => {
  const samples: readonly (readonly [file: string, tier: Tier, services: readonly string[]])[] = [
    ['test/domain/money.test.ts', 'unit', []],
    ['test/db/batcher.test.ts', 'database', []],
    ['test/db/invariants.test.ts', 'database', ['database']],
    ['test/source.test.ts', 'system', []],
    ['test/api/http-server.test.ts', 'system', []],
    ['test/text/linear.test.ts', 'system', []],
    ['test/services/tasks/workflow-access.test.ts', 'system', ['temporal']],
    ['test/workflows/replay.test.ts', 'system', ['workflowBundle']],
    ['test/lab/drill/drill.test.ts', 'system', ['programs', 'workflowBundle']],
    ['test/workflows/crashes.test.ts', 'system', ['database', 'programs', 'temporal', 'workflowBundle']],
  ];
  for (const [file, tier, services] of samples) {
    it(`include ${services.join(', ') || 'no services'} and the tier ${tier}: ${file}`, () => {
      const needs = readTestNeeds(file);
      expect([needs.tier, [...needs.services].sort()]).to.deep.equal([tier, services]);
    });
  }

  it('files of the unit tier load no PostgreSQL, Temporal, processes or sockets, and make up at least a quarter of all files', () => {
    const unit = files.filter((file) => readTestNeeds(file).tier === 'unit');
    const loads = ({ isTypeOnly, isDynamic }: Import): boolean => !isTypeOnly && !isDynamic;
    const loaded = new Set(unit.flatMap((file) => findTransitiveImports(file, loads).map(({ from }) => from)));
    expect([...loaded]).not.to.include.any.members([
      'pg',
      '@temporalio/worker',
      'node:child_process',
      'node:http',
      'node:net',
    ]);
    expect(unit.length).to.be.at.least(files.length / 4);
  });
});
