import { randomUUID } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Makes something before the tests of the suite that is being described.
 *
 * @returns the object to use in tests and hooks, where it is what was made
 */
export function useMade<Made extends object>(make: () => Promise<Made>): Made {
  let made: Made | undefined;
  before(async () => {
    made = await make();
  });
  return new Proxy(Object.create(null), {
    get(_target, name) {
      if (!made) throw new Error('it exists only for the tests of its suite');
      return Reflect.get(made, name);
    },
  });
}

/** Starts something before the tests of the suite that is being described, and stops it after them. See {@link useMade}. */
export function useStarted<Started extends { stop(): Promise<unknown> }>(start: () => Promise<Started>): Started {
  let started: Started | undefined;
  const used = useMade(async () => (started = await start()));
  after(() => started?.stop());
  return used;
}

/** A folder for the tests of the current suite. @returns its path */
export function useTestFolder(): string {
  const path = join(tmpdir(), `genway-test-${randomUUID()}`);
  before(() => mkdir(path));
  // A process of the suite may still write.
  after(() => rm(path, { recursive: true, force: true, maxRetries: 5 }));
  return path;
}
