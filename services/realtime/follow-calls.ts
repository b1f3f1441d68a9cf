/** Ends calls over WebRTC on request, and those of dead processes, whose upstreams would go on unseen. */
import type { Database } from '../../db/database.ts';
import type { Caller } from '../../db/queries/api-keys.ts';
import {
  extendRealtimeCalls,
  findRequestedHangUps,
  requestHangUp,
  takeAbandonedCalls,
} from '../../db/queries/realtime-calls.ts';
import { repeat } from '../../domain/background-loop.ts';
import { notFoundError } from '../../domain/not-found.ts';
import type { TextServices } from '../text/services.ts';
import { addressOfCall, endCall } from './calls.ts';
import { expired, type Session } from './session.ts';

export interface FollowedCalls {
  /** Follows a call until its session has ended. */
  follow(id: string, session: Session): void;
  /** Ends a call, which another process may follow. @throws ServiceError 404 for a call of another key */
  hangUp(caller: Caller, id: string): Promise<void>;
  /** Ends the calls of dead processes, from now on. */
  takeOver(pauseMs: number): void;
  stop(): Promise<void>;
}

/** Another process ends a call within 2 s. */
const CHECK_MS = 500;
const EXTENSION_MS = 10_000;

export function followCalls({
  database,
  text,
}: {
  readonly database: Database;
  readonly text: TextServices;
}): FollowedCalls {
  const followed = new Map<string, Session>();
  let extendedAtMs = 0;
  let wasReachable = false;

  async function check(): Promise<void> {
    if (followed.size === 0) return;
    const ids = [...followed.keys()];
    for (const id of await findRequestedHangUps(database, ids)) void followed.get(id)?.end(expired());
    if (performance.now() - extendedAtMs < EXTENSION_MS) return;
    await extendRealtimeCalls(database, ids);
    extendedAtMs = performance.now();
  }

  async function endAbandoned(): Promise<void> {
    // After an outage of the database, other processes need time to extend their calls.
    const mayEnd = wasReachable;
    wasReachable = false;
    if (mayEnd) {
      const abandoned = await takeAbandonedCalls(database);
      await Promise.all(abandoned.map((call) => endCall(call.id, addressOfCall(call), text, database)));
    } else await database.raw('SELECT');
    wasReachable = true;
  }

  const onError = (error: unknown): void => text.log.error({ err: error }, 'could not check calls over WebRTC');
  const repetitions = [repeat(check, { pauseMs: CHECK_MS, onError })];

  return {
    follow: (id, session) => {
      followed.set(id, session);
      void session.ended.then(() => followed.delete(id));
    },

    hangUp: async (caller, id) => {
      const isFound = await requestHangUp(database, { id, apiKeyId: caller.key.id });
      if (!isFound) throw notFoundError('realtimeCall', caller);
      await followed.get(id)?.end(expired());
    },

    takeOver: (pauseMs) => {
      repetitions.push(repeat(endAbandoned, { pauseMs, onError }));
    },

    stop: async () => {
      await Promise.all(repetitions.map((repetition) => repetition.stop()));
    },
  };
}
