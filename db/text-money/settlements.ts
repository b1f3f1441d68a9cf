/** Writes settlements, many at a time, retrying each until it is written. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { againIfLost } from '../connections.ts';
import type { TextLedger, TextSettlement } from './ledger.ts';
import type { TextTurns } from './turns.ts';

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

const MAX_WAITING = 20_000;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;

/** @param ledger for settlements whose hold is gone */
export function createSettlements(
  turns: TextTurns,
  ledger: Pick<TextLedger, 'settleWithoutHold'>,
  log: Logger,
): Settlements {
  const waiting = new Set<Promise<void>>();
  const stopped = new AbortController();

  async function write(settlement: TextSettlement): Promise<void> {
    const wasHeld = await turns.settle(settlement);
    // Nothing is owed for a failure, so there is nothing to make up for.
    if (!wasHeld && settlement.outcome !== 'failed') await againIfLost(() => ledger.settleWithoutHold(settlement));
  }

  async function retry(settlement: TextSettlement): Promise<void> {
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
      await sleep(pauseMs, undefined, { signal: stopped.signal });
      if (await attempt(settlement)) return;
    }
  }

  async function attempt(settlement: TextSettlement): Promise<boolean> {
    try {
      await write(settlement);
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
