/**
 * Clients that left before their answer was complete. Their calls continue for a while, because the usage to charge
 * comes at the end; the number of such calls is limited.
 */

/** Why the answer to a departed client is no longer read. */
export type AbandonReason = 'nothing-due' | 'unfinished' | 'crowded-out' | 'cut';

/** The client closed or lost the connection. */
export class ClientGoneError extends Error {
  override readonly name = 'ClientGoneError';
  /**
   * `nothing-due`: the rest of the answer costs nothing; `unfinished`: the upstream took longer than the time allowed;
   * `crowded-out`: too many others are continuing; `cut`: the service itself closed the connection.
   */
  readonly ending: AbandonReason;

  constructor(ending: AbandonReason) {
    super();
    this.ending = ending;
  }
}

export interface DepartedClients {
  /** Whether the service is closing all connections. */
  readonly isCutting: boolean;
  /**
   * Lets the call of a departed client continue.
   *
   * @param end ends the call, after a while at the latest
   * @returns a function to call when the call has ended
   */
  track(accountId: string, end: (ending: AbandonReason) => void): () => void;
  /** Ends the remaining calls after a while; connections that close from now on count as closed by the service. */
  stop(graceMs: number): void;
}

/** Limits per process, for one account and for all accounts: each call holds a connection to an upstream. */
const MAX_PER_ACCOUNT = 1_000;
const MAX_IN_ALL = 4_000;

/** @param readOnMs how long a call continues without its client */
export function trackDepartedClients(readOnMs: number): DepartedClients {
  const left = new Set<{ readonly end: (ending: AbandonReason) => void }>();
  const counts = new Map<string, number>();
  let isCutting = false;

  return {
    get isCutting() {
      return isCutting;
    },

    track(accountId, end) {
      const count = counts.get(accountId) ?? 0;
      if (count >= MAX_PER_ACCOUNT || left.size >= MAX_IN_ALL) {
        end('crowded-out');
        return () => {};
      }
      counts.set(accountId, count + 1);
      const call = { end };
      left.add(call);
      const timer = setTimeout(() => end('unfinished'), readOnMs);
      return () => {
        if (!left.delete(call)) return;
        clearTimeout(timer);
        const others = (counts.get(accountId) ?? 1) - 1;
        if (others === 0) counts.delete(accountId);
        else counts.set(accountId, others);
      };
    },

    stop(graceMs) {
      setTimeout(() => {
        isCutting = true;
        for (const { end } of left) end('cut');
      }, graceMs);
    },
  };
}
