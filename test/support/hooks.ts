/** Loaded by mocha before any test: stops at the end what tests asked for. */
import { stopTestServices } from './services.ts';

// Mocha passes Ctrl-C on to this process as SIGTERM too. To exit stops what tests have started; to end by the signal would not.
process.once('SIGTERM', () => process.exit(143));

export async function mochaGlobalTeardown(): Promise<void> {
  await stopTestServices();
}
