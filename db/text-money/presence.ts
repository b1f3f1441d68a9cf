/** Keeps the process registered while it holds money for text requests, and releases the holds of dead processes. */
import type { Logger } from 'pino';
import { repeat, type Repetition } from '../../domain/repeat.ts';
import type { Database } from '../database.ts';
import { PROCESS_DEAD_AFTER_SECONDS, releaseAbandonedText } from './abandoned.ts';
import { type Heartbeat, recordHeartbeat, removeProcess } from './processes.ts';
import type { TextLedger } from './ledger.ts';

export interface Presence {
  /** Registers the process, and keeps it registered. */
  begin(): Promise<void>;
  /** Unregisters it, once. */
  end(): Promise<void>;
}

/** Several heartbeats may be lost before the process counts as dead. */
const HEARTBEAT_MS = 5_000;

export function keepProcessKnown({
  database,
  ledger,
  processId,
  waitsSince,
  log,
}: {
  database: Database;
  ledger: TextLedger;
  processId: string;
  /** When the oldest request that it waits for began; null if there is none. */
  waitsSince: () => Date | null;
  log: Logger;
}): Presence {
  let running: Repetition | undefined;
  let last: Heartbeat | undefined;

  async function record(): Promise<Heartbeat> {
    last = await recordHeartbeat(database, processId, { since: waitsSince(), asOf: last?.at ?? null });
    return last;
  }

  async function beat(): Promise<void> {
    const { heardForSeconds } = await record();
    // After an outage that silenced every process, the first one back would take the others for dead.
    if (heardForSeconds < PROCESS_DEAD_AFTER_SECONDS) return;
    const released = await releaseAbandonedText(database, ledger);
    if (released > 0) log.warn({ requests: released }, 'released holds of abandoned text requests');
  }

  return {
    begin: async () => {
      await record();
      running ??= repeat(beat, {
        pauseMs: HEARTBEAT_MS,
        onError: (error) => log.error({ err: error }, 'the heartbeat failed'),
      });
    },
    end: async () => {
      if (!running) return;
      await running.stop();
      await removeProcess(database, processId).catch((error: unknown) => {
        log.warn({ err: error }, 'could not unregister the process; it will count as dead');
      });
    },
  };
}
