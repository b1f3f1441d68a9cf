/**
 * Clients that left before their answer was whole. Their calls of upstreams go on for a while, because the usage that they pay
 * comes at the end; how many go on at once is bounded.
 */

/** Why the answer to a client that is gone is read no further. */
export type Ending = 'nothing-due' | 'unfinished' | 'crowded-out' | 'cut';

/** The client has closed the connection, or lost it, so there is nobody to tell. */
export class ClientGoneError extends Error {
  override readonly name = 'ClientGoneError';
  /**
   * `nothing-due`: what is still to come costs nothing; `unfinished`: the upstream went on for longer than is waited for;
   * `crowded-out`: too many others are waited for; `cut`: it was the service that ended the connection.
   */
  readonly ending: Ending;

  constructor(ending: Ending) {
    super();
    this.ending = ending;
  }
}

export interface Departures {
  /** Whether the service ends all connections itself. */
  readonly isCutting: boolean;
  /**
   * Lets the call of a client that left go on.
   *
   * @param end ends it, in a while at the latest
   * @returns forgets it; to be called when it has ended
   */
  begin(accountId: string, end: (ending: Ending) => void): () => void;
  /** Ends what is left in a while; all connections that are closed from then on are closed by the service. */
  stop(graceMs: number): void;
}

/** Of one account and of all, in one process: each holds a connection to an upstream. */
const MOST_OF_ONE_ACCOUNT = 1_000;
const MOST_OF_ALL = 4_000;

/** @param readOnMs how long a call goes on without its client */
export function watchDepartures(readOnMs: number): Departures {
  const left = new Set<{ readonly end: (ending: Ending) => void }>();
  const counts = new Map<string, number>();
  let isCutting = false;

  return {
    get isCutting() {
      return isCutting;
    },

    begin(accountId, end) {
      const count = counts.get(accountId) ?? 0;
      if (count >= MOST_OF_ONE_ACCOUNT || left.size >= MOST_OF_ALL) {
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
