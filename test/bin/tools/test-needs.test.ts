import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { readTestNeeds } from '../../../bin/tools/test-needs.ts';
import { type Import, findTransitiveImports } from '../../../bin/tools/imports.ts';

const files = readdirSync('test', { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.test.ts'))
  .map((file) => join('test', file));

describe('the needs of a test file', () => {
  const samples: readonly (readonly [file: string, isUnit: boolean, services: readonly string[]])[] = [
    ['test/domain/money.test.ts', true, []],
    ['test/db/batcher.test.ts', false, []],
    ['test/db/invariants.test.ts', false, ['database']],
    ['test/source.test.ts', false, []],
    ['test/api/http-server.test.ts', false, []],
    ['test/text/linear.test.ts', false, []],
    ['test/services/tasks/workflow-access.test.ts', false, ['temporal']],
    ['test/workflows/replay.test.ts', false, ['workflowBundle']],
    ['test/workflows/crashes.test.ts', false, ['database', 'programs', 'temporal', 'workflowBundle']],
  ];
  for (const [file, isUnit, services] of samples) {
    it(`include ${services.join(', ') || 'no services'}${isUnit ? ', no processes and no sockets' : ''}: ${file}`, () => {
      const needs = readTestNeeds(file);
      expect([needs.isUnit, [...needs.services].sort()]).to.deep.equal([isUnit, services]);
    });
  }

  it('unit files load no PostgreSQL, Temporal, processes or sockets, and make up at least a quarter of all files', () => {
    const unit = files.filter((file) => readTestNeeds(file).isUnit);
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
