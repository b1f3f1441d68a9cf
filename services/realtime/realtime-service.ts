/** Realtime sessions: client secrets, the limits of sessions, and what ends them. Contract 4.16. */
import type { Catalogue } from '../../catalogue/types.ts';
import { hasFormat } from '../../catalogue/types.ts';
import type { Database } from '../../db/database.ts';
import type { Encryption } from '../../db/encryption.ts';
import { type Caller, findCallersOfKeys } from '../../db/queries/api-keys.ts';
import { repeat } from '../../domain/background-loop.ts';
import type { TextServices } from '../text/services.ts';
import { attach, type AttachRequest, type CallRequest, type OpenedCall, openCall } from './calls.ts';
import { followCalls } from './follow-calls.ts';
import { openSession, type SessionRequest } from './open-session.ts';
import { Places } from './places.ts';
import { createSecretStore, refusalOfKey, type SecretStore } from './secrets.ts';
import { expired, type Session } from './session.ts';

export interface RealtimeService {
  /** Whether the catalogue has a model of realtime sessions. */
  isOffered(): boolean;
  readonly secrets: Pick<SecretStore, 'create' | 'find'>;
  /**
   * Opens a session. Resolves when the session runs.
   *
   * @throws ServiceError for every reason not to accept the upgrade
   */
  open(request: SessionRequest): Promise<void>;
  /** Opens a call over WebRTC. @throws ServiceError for every reason not to open it */
  call(request: CallRequest): Promise<OpenedCall>;
  /**
   * Opens a client's WebSocket to a call.
   *
   * @throws ServiceError 404 for a call of another key, 410 for a call that has ended, and the errors of {@link open}
   */
  attach(request: AttachRequest): Promise<void>;
  /** Ends a call. @throws ServiceError 404 for a call of another key */
  hangUp(caller: Caller, callId: string): Promise<void>;
  /** Ends the calls of dead processes, from now on. @param pauseMs longer than processes need to extend their calls */
  takeOverCalls(pauseMs?: number): void;
  /** Refuses new sessions, announces the end to all clients, and ends all sessions after `graceMs`. */
  stop(graceMs: number): Promise<void>;
}

interface RealtimeDependencies {
  readonly database: Database;
  readonly encryption: Encryption;
  readonly text: TextServices;
}

/** A deleted key ends its sessions within 2 s. */
const CHECK_MS = 500;
const TAKE_OVER_MS = 15_000;

export function createRealtimeService({ database, encryption, text }: RealtimeDependencies): RealtimeService {
  const sessions = new Set<Session>();
  const places = new Places();
  const secrets = createSecretStore({ database, encryption, text });
  // Also ends sessions while the database does not answer.
  const ticks = setInterval(() => {
    for (const session of sessions) session.tick(performance.now());
  }, CHECK_MS).unref();
  const checks = repeat(() => checkKeys(sessions, database, text), {
    pauseMs: CHECK_MS,
    onError: (error) => text.log.error({ err: error }, 'could not check the keys of realtime sessions'),
  });

  const calls = followCalls({ database, text });

  function run(session: Session): void {
    sessions.add(session);
    void removeWhenEnded(session);
    session.start();
  }

  async function removeWhenEnded(session: Session): Promise<void> {
    await session.ended;
    sessions.delete(session);
    places.leave(session.parts.caller.account.id);
  }

  return {
    isOffered: () => isOffered(text.catalogue),
    secrets,

    open: async (request) => {
      run(await openSession(request, { text, places, secrets }));
    },

    call: async (request) => {
      const { session, ...call } = await openCall(request, { text, places, secrets, database });
      calls.follow(call.id, session);
      run(session);
      return call;
    },

    attach: async (request) => {
      run(await attach(request, { text, places, database }));
    },

    hangUp: (caller, callId) => calls.hangUp(caller, callId),

    takeOverCalls: (pauseMs = TAKE_OVER_MS) => calls.takeOver(pauseMs),

    stop: async (graceMs) => {
      places.close();
      for (const session of sessions) session.announceEnd(graceMs);
      const all = Promise.all([...sessions].map(({ ended }) => ended));
      const timer = setTimeout(() => {
        for (const session of sessions) void session.end(expired());
      }, graceMs);
      await all;
      clearTimeout(timer);
      clearInterval(ticks);
      await Promise.all([checks.stop(), calls.stop()]);
    },
  };
}

/** Ends the sessions of keys that can no longer be used. */
async function checkKeys(sessions: ReadonlySet<Session>, database: Database, text: TextServices): Promise<void> {
  if (sessions.size === 0) return;
  const keyIds = new Set([...sessions].map(({ parts }) => parts.caller.key.id));
  const callers = new Map((await findCallersOfKeys(database, [...keyIds])).map((caller) => [caller.key.id, caller]));
  const now = new Date(text.clock.nowMs());
  for (const session of sessions) {
    const caller = callers.get(session.parts.caller.key.id);
    const refusal = caller === undefined ? null : refusalOfKey(caller, now);
    if (caller !== undefined) session.parts.caller = caller;
    if (refusal !== null) void session.end(refusal);
  }
}

function isOffered({ textModels }: Catalogue): boolean {
  return [...textModels.values()].some((model) => hasFormat(model, 'realtime'));
}
