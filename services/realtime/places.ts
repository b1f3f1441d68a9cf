/** Bounds the sessions of a process, and of each account in it. */
import { ServiceError } from '../../domain/errors.ts';
import { REALTIME } from '../../domain/policy.ts';

const RETRY_SECONDS = 5;

export class Places {
  readonly #byAccount = new Map<string, number>();
  #taken = 0;
  #isClosed = false;

  /**
   * Opens a session in a place, which is free again if opening fails.
   *
   * @throws ServiceError 503 `realtime_capacity_unavailable`, and the errors of `open`
   */
  async fill<Opened>(accountId: string, open: () => Promise<Opened>): Promise<Opened> {
    this.#take(accountId);
    try {
      return await open();
    } catch (error) {
      this.leave(accountId);
      throw error;
    }
  }

  #take(accountId: string): void {
    const ofAccount = this.#byAccount.get(accountId) ?? 0;
    const { ofProcess, ofAccount: mostOfAccount } = REALTIME.sessions;
    if (this.#isClosed || this.#taken >= ofProcess || ofAccount >= mostOfAccount) throw noCapacity();
    this.#taken += 1;
    this.#byAccount.set(accountId, ofAccount + 1);
  }

  leave(accountId: string): void {
    this.#taken -= 1;
    const left = (this.#byAccount.get(accountId) ?? 1) - 1;
    if (left > 0) this.#byAccount.set(accountId, left);
    else this.#byAccount.delete(accountId);
  }

  /** Refuses all sessions from now on. */
  close(): void {
    this.#isClosed = true;
  }
}

function noCapacity(): ServiceError {
  return new ServiceError(
    'realtime_capacity_unavailable',
    'All places for sessions are taken. Try again in a few seconds, or end a session of this account.',
    { retryAfterSeconds: RETRY_SECONDS },
  );
}
