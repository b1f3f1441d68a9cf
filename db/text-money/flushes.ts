/**
 * Makes commits durable, many at a time. A turn's locks would be held while the disk writes if it waited for that itself, and
 * the next turn could not begin; so turns commit without waiting, and one small commit that does wait covers all before it.
 */
import { createBatcher } from '../batcher.ts';
import { OutcomeUnknownError } from '../connections.ts';
import type { TextLedger } from './ledger.ts';

export interface Flushes {
  /** Which life of the server it is, to be asked before something is written. */
  life(): Promise<string>;
  /**
   * Waits until what was committed in that life is durable.
   *
   * @throws OutcomeUnknownError if the server has crashed since, which may have lost it
   */
  flush(life: string): Promise<void>;
}

/** So many as wait; they cost nothing each. */
const MAX_FLUSHED_AT_ONCE = 100_000;

export function createFlushes(ledger: Pick<TextLedger, 'flush'>): Flushes {
  let latest: string | undefined;

  const batcher = createBatcher<null, string>(
    async (waiting) => {
      const life = await ledger.flush();
      latest = life;
      return waiting.map(() => life);
    },
    { maxItems: MAX_FLUSHED_AT_ONCE },
  );

  return {
    life: async () => latest ?? batcher.add(null),
    flush: async (life) => {
      if ((await batcher.add(null)) === life) return;
      throw new OutcomeUnknownError('the database crashed before a commit was on its disk');
    },
  };
}
