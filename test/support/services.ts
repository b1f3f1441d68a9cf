/**
 * The servers, the built programs and the bundle of workflows of the tests: those of the whole run under `npm test`,
 * otherwise ones that start on first use and stop after the last test.
 */
import { randomUUID } from 'node:crypto';
import type { Built } from '../../lab/stack/stack.ts';
import { createServices, type Services } from './servers.ts';

declare global {
  /** Mocha loads most files by `require`, and files with top-level await by `import`: this module then exists twice. */
  var testServices: Services | undefined;
}

const services = (globalThis.testServices ??= createServices());

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

/** Creates a Temporal namespace for one suite, so that no other suite's worker takes its tasks. @returns its name */
export async function createTestNamespace(): Promise<string> {
  const { createNamespace } = await import('../../bin/stack/temporal-server.ts');
  const namespace = `test-${randomUUID()}`;
  await createNamespace(await testTemporalAddress(), namespace);
  return namespace;
}

/** Stops the services that this process started. */
export async function stopTestServices(): Promise<void> {
  await services.stop();
}
