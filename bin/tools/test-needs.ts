/** Finds the servers that a test file needs, by its imports, so that a run of tests starts nothing else. */
import type { Services } from '../../test/support/servers.ts';
import { findTransitiveImports } from './imports.ts';

export type Service = Exclude<keyof Services, 'stop'>;

export interface TestNeeds {
  readonly services: ReadonlySet<Service>;
  /** The file needs no server, starts no process and opens no socket. */
  readonly isUnit: boolean;
}

/** The functions of `test/support/services.ts` through which tests ask for services. */
const REQUESTED_BY: Readonly<Record<string, readonly Service[]>> = {
  testDatabaseUrl: ['database'],
  testTemporalAddress: ['temporal'],
  createTestNamespace: ['temporal'],
  testWorkflowBundle: ['workflowBundle'],
  testPrograms: ['programs'],
  testBuild: ['programs', 'workflowBundle'],
};
const SERVICES = 'test/support/services.ts';
const NO_UNIT_LOADS = [
  '@temporalio/worker',
  'pg',
  'node:child_process',
  'node:http',
  'node:https',
  'node:net',
  // Measures processor time.
  'test/support/growth.ts',
];

/** Finds the needs of a test file by the imports of the file and of all modules that load with it. */
export function readTestNeeds(file: string): TestNeeds {
  const imports = findTransitiveImports(file, ({ isTypeOnly, isDynamic }) => !isTypeOnly && !isDynamic);
  const names = imports
    .filter(({ target }) => target === SERVICES)
    .flatMap((statement) => statement.names.match(/\w+/g) ?? []);
  const services = new Set(names.flatMap((name) => REQUESTED_BY[name] ?? []));
  const modules = new Set(imports.map(({ target, from }) => target ?? from));
  return { services, isUnit: services.size === 0 && !NO_UNIT_LOADS.some((module) => modules.has(module)) };
}
