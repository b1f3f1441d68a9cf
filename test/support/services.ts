/**
 * The PostgreSQL and Temporal servers that tests use: those of the whole run when `npm test` started them, otherwise ones
 * that are started when a test first asks, and stopped after the last test.
 */
import { createServices, TEST_NAMESPACES } from './servers.ts';

const services = createServices();
const unclaimedNamespaces = [...TEST_NAMESPACES];

/** Connection URL of a PostgreSQL server on which tests may create databases. */
export async function testDatabaseUrl(): Promise<string> {
  return process.env['GENWAY_TEST_DATABASE_URL'] ?? (await services.database());
}

/** host:port of a Temporal server with the namespace `default` and Genway's search attributes. */
export async function testTemporalAddress(): Promise<string> {
  return process.env['GENWAY_TEST_TEMPORAL_ADDRESS'] ?? (await services.temporal());
}

/** A Temporal namespace that no other suite uses, so that no other suite's worker takes its tasks. */
export function claimTestNamespace(): string {
  const namespace = unclaimedNamespaces.shift();
  if (namespace === undefined) throw new Error('raise the number of test namespaces');
  return namespace;
}

/** Stops what {@link testDatabaseUrl} and {@link testTemporalAddress} started. */
export async function stopTestServices(): Promise<void> {
  await services.stop();
}
