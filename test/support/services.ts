/**
 * The servers, the built programs and the bundle of workflows of the tests: those of the whole run under `npm test`,
 * otherwise ones that start on first use and stop after the last test.
 */
import type { Built } from '../../lab/stack/stack.ts';
import { createServices, MAX_TEST_PROCESSES, type Services, testNamespaces } from './servers.ts';

declare global {
  /** Mocha loads most files by `require`, and files with top-level await by `import`: this module then exists twice. */
  var testServices: { readonly services: Services; readonly unclaimedNamespaces: string[] } | undefined;
}

const { services, unclaimedNamespaces } = (globalThis.testServices ??= {
  services: createServices(),
  // Mocha numbers its test processes, including replacements of dead ones; a lone process has no number.
  unclaimedNamespaces: testNamespaces(Number(process.env['MOCHA_WORKER_ID'] ?? 0) % MAX_TEST_PROCESSES),
});

/** Connection URL of a PostgreSQL server on which tests may create databases. */
export async function testDatabaseUrl(): Promise<string> {
  return process.env['GENWAY_TEST_DATABASE_URL'] ?? (await services.database());
}

/** host:port of a Temporal server with the namespace `default` and Genway's search attributes. */
export async function testTemporalAddress(): Promise<string> {
  return process.env['GENWAY_TEST_TEMPORAL_ADDRESS'] ?? (await services.temporal());
}

/** The file with the workflows, bundled once for all the workers of a run. */
export async function testWorkflowBundle(): Promise<string> {
  return process.env['GENWAY_TEST_WORKFLOW_BUNDLE'] ?? (await services.workflowBundle());
}

/** The folder with Genway's programs, built once for all the processes of a run. */
export async function testPrograms(): Promise<string> {
  return process.env['GENWAY_TEST_PROGRAMS'] ?? (await services.programs());
}

/** Both, for stacks of the benchmarks. */
export async function testBuild(): Promise<Built> {
  const [programs, workflowBundle] = await Promise.all([testPrograms(), testWorkflowBundle()]);
  return { programs, workflowBundle };
}

/** A Temporal namespace that no other suite uses, so that no other suite's worker takes its tasks. */
export function claimTestNamespace(): string {
  const namespace = unclaimedNamespaces.shift();
  if (namespace === undefined) throw new Error('raise the number of test namespaces');
  return namespace;
}

/** Stops the services that this process started. */
export async function stopTestServices(): Promise<void> {
  await services.stop();
}
