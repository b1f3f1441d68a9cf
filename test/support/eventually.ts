import { waitUntil } from '../../bin/stack/wait-until.ts';

/** How long a test waits for an event: longer than any takes on a busy machine, and shorter than the limit of a test. */
export const PATIENCE_MS = 120_000;

/** Polls: repeats `look` until it returns a value that is neither undefined nor false. */
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
