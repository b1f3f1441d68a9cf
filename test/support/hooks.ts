/** Loaded by mocha before any test: stops at the end what tests asked for. */
import { stopTestServices } from './services.ts';

export async function mochaGlobalTeardown(): Promise<void> {
  await stopTestServices();
}
