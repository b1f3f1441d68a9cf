import { waitUntil } from '../../bin/stack/wait-until.ts';

/** Longer than anything here takes, and shorter than a test may. */
const PATIENCE_MS = 30_000;

/** Waits for what nothing announces: repeats `look` until it finds something, or that something is true. */
export async function eventually(look: () => Promise<boolean> | boolean): Promise<void>;
export async function eventually<Found>(look: () => Promise<Found | undefined> | Found | undefined): Promise<Found>;
export async function eventually(look: () => unknown): Promise<unknown> {
  const attempt = async (): Promise<unknown> => {
    const found = await look();
    if (found === undefined || found === false) throw new Error('what the test waits for did not come about');
    return found;
  };
  return waitUntil(attempt, { timeoutMs: PATIENCE_MS });
}
