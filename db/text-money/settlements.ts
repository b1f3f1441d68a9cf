/** Writes settlements, many at a time, retrying each until it is written. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { createBatcher, type Turns } from '../batcher.ts';
import type { TextLedger, TextSettlement } from './ledger.ts';

export interface Settlements {
  /**
   * Resolves when the settlement is written, or after a failed first attempt that will be retried. Never throws.
   *
   * @param onWritten called when it is written
   */
  add(settlement: TextSettlement, onWritten?: () => void): Promise<void>;
  /** Whether so many are waiting for the database that no new request should be accepted. */
  isFull(): boolean;
  /** Waits until everything is written, for at most `timeoutMs`. @returns how many are not */
  drain(timeoutMs: number): Promise<number>;
}

const MAX_SETTLED_AT_ONCE = 250;
const MAX_WAITING = 20_000;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 10_000;

/** @param turns coordinate the writes */
export function createSettlements(ledger: TextLedger, turns: Turns, log: Logger): Settlements {
  const waiting = new Set<Promise<void>>();
  const stopped = new AbortController();
  const batcher = createBatcher<TextSettlement, null>(settle, { maxItems: MAX_SETTLED_AT_ONCE, turns });

  async function settle(settlements: readonly TextSettlement[]): Promise<readonly null[]> {
    const withoutHold = await ledger.settle(settlements);
    for (const settlement of settlements) {
      // Nothing is owed for a failure, so there is nothing to make up for.
      const isOwed = settlement.outcome !== 'failed' && withoutHold.has(settlement.hold.id);
      if (isOwed) await ledger.settleWithoutHold(settlement);
    }
    return settlements.map(() => null);
  }

  async function retry(settlement: TextSettlement): Promise<void> {
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
      await sleep(pauseMs, undefined, { signal: stopped.signal });
      if (await attempt(settlement)) return;
    }
  }

  async function attempt(settlement: TextSettlement): Promise<boolean> {
    try {
      await batcher.add(settlement);
      return true;
    } catch (error) {
      log.error({ err: error, text_request_id: settlement.hold.id }, 'a settlement could not be written yet');
      return false;
    }
  }

  function track(work: Promise<void>): void {
    const tracked = work.catch(() => undefined).finally(() => waiting.delete(tracked));
    waiting.add(tracked);
  }

  return {
    add: async (settlement, onWritten = () => {}) => {
      const first = attempt(settlement);
      track(first.then((written) => (written ? undefined : retry(settlement))).then(onWritten));
      await first;
    },
    isFull: () => waiting.size >= MAX_WAITING,
    drain: async (timeoutMs) => {
      const expired = sleep(timeoutMs, undefined, { ref: false });
      await Promise.race([Promise.all(waiting), expired]);
      const left = waiting.size;
      stopped.abort();
      return left;
    },
  };
}
