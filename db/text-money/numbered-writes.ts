/** Sends the writes of a process one at a time, each until the database answers. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { isConnectionLost, isUnavailable } from '../connections.ts';
import { isPostgresError } from '../database.ts';
import { LEASE_SECONDS } from '../text-lease.ts';
import type { TextLedger, TextWrite, WrittenText } from './ledger.ts';

const FIRST_PAUSE_MS = 50;
const MAX_PAUSE_MS = 1_000;

export class NumberedWrites {
  readonly #ledger: Pick<TextLedger, 'write'>;
  readonly #log: Logger;
  #lastNumber = 0;
  #leaseUntilMs = 0;
  #isReported = false;
  #isClosed = false;

  constructor(ledger: Pick<TextLedger, 'write'>, log: Logger) {
    this.#ledger = ledger;
    this.#log = log;
  }

  /** The end of the lease, until which the process may spend its allowances, by `performance.now()`. */
  get leaseUntilMs(): number {
    return this.#leaseUntilMs;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /**
   * Sends a write, and repeats it with its number until the database answers. Do not call this again before it ends.
   *
   * @throws DatabaseError if PostgreSQL refuses the write; the last error if the process closes the writes
   */
  async send(write: Omit<TextWrite, 'number'>): Promise<WrittenText> {
    this.#lastNumber += 1;
    const numbered = { ...write, number: this.#lastNumber };
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)) {
      const sentAtMs = performance.now();
      try {
        const written = await this.#ledger.write(numbered);
        // The lease in the database starts later, so this end is early enough.
        this.#leaseUntilMs = sentAtMs + LEASE_SECONDS * 1000;
        if (this.#isReported) this.#log.info('the database answers again');
        this.#isReported = false;
        return written;
      } catch (error) {
        if (this.#isClosed || (isPostgresError(error) && !isConnectionLost(error) && !isUnavailable(error)))
          throw error;
        if (!this.#isReported) this.#log.error({ err: error }, 'the database does not answer; text requests wait');
        this.#isReported = true;
      }
      await sleep(pauseMs);
    }
  }

  /** Gives up an unanswered write. */
  close(): void {
    this.#isClosed = true;
  }
}
