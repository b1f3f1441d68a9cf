/** Temporal for suites that start no stack. */
import { Client, Connection } from '@temporalio/client';
import { createTestNamespace, testTemporalAddress } from './services.ts';
import { useStarted } from './started.ts';

/**
 * Clients for the tests of the current suite: `client` has a namespace of its own, and the server of `unreachable` does
 * not answer.
 */
export function useTestTemporal() {
  return useStarted(async () => {
    const connection = await Connection.connect({ address: await testTemporalAddress() });
    // Without retries: the SDK throws when one comes after the connection is closed.
    const nowhere = Connection.lazy({ address: '127.0.0.1:9', interceptors: [] });
    return {
      client: new Client({ connection, namespace: await createTestNamespace() }),
      unreachable: new Client({ connection: nowhere }),
      stop: () => Promise.all([connection.close(), nowhere.close()]),
    };
  });
}
