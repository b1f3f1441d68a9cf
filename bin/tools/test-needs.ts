/** Finds the servers that a test file needs, by its imports, so that a run of tests starts nothing else. */
import type { Services } from '../../test/support/servers.ts';
import { findTransitiveImports } from './imports.ts';

export type Service = Exclude<keyof Services, 'stop'>;

/**
 * `unit` tests need no server, start no process and open no socket; `database` tests need only PostgreSQL; `system`
 * tests may need anything, including an idle processor, whose time they measure.
 */
export const TIERS = ['unit', 'database', 'system'] as const;
export type Tier = (typeof TIERS)[number];

export interface TestNeeds {
  readonly services: ReadonlySet<Service>;
  readonly tier: Tier;
}

/** The functions of `test/support/services.ts` through which tests ask for services. */
const REQUESTED_BY: Readonly<Record<string, readonly Service[]>> = {
  testDatabaseUrl: ['database'],
  testTemporalAddress: ['temporal'],
  testWorkflowBundle: ['workflowBundle'],
  testPrograms: ['programs'],
  testBuild: ['programs', 'workflowBundle'],
};
const SERVICES = 'test/support/services.ts';
const NO_UNIT_LOADS = ['node:child_process', 'node:http', 'node:https', 'node:net', 'test/support/growth.ts'];

/** Finds the needs of a test file by the imports of the file and of all modules that load with it. */
export function readTestNeeds(file: string): TestNeeds {
  const imports = findTransitiveImports(file, ({ isTypeOnly, isDynamic }) => !isTypeOnly && !isDynamic);
  const names = imports
    .filter(({ target }) => target === SERVICES)
    .flatMap((statement) => statement.names.match(/\w+/g) ?? []);
  const services = new Set(names.flatMap((name) => REQUESTED_BY[name] ?? []));
  return { services, tier: tierOf(services, new Set(imports.map(({ target, from }) => target ?? from))) };
}

function tierOf(services: ReadonlySet<Service>, modules: ReadonlySet<string>): Tier {
  if ([...services].some((service) => service !== 'database')) return 'system';
  if (modules.has('@temporalio/worker')) return 'system';
  if (services.has('database') || modules.has('pg')) return 'database';
  return NO_UNIT_LOADS.some((module) => modules.has(module)) ? 'system' : 'unit';
}
