import { randomUUID } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Starts something before the tests of the suite that is being described, and stops it after them.
 *
 * @returns the object to use in tests and hooks, where it is what was started
 */
export function useStarted<Started extends { stop(): Promise<unknown> }>(start: () => Promise<Started>): Started {
  let started: Started | undefined;
  before(async () => {
    started = await start();
  });
  after(() => started?.stop());
  return new Proxy(Object.create(null), {
    get(_target, name) {
      if (!started) throw new Error('it runs only for the tests of its suite');
      return Reflect.get(started, name);
    },
  });
}

/** A folder for the tests of the current suite. @returns its path */
export function useTestFolder(): string {
  const path = join(tmpdir(), `genway-test-${randomUUID()}`);
  before(() => mkdir(path));
  // A process of the suite may still write.
  after(() => rm(path, { recursive: true, force: true, maxRetries: 5 }));
  return path;
}
