/** Realtime sessions: client secrets, the limits of sessions, and what ends them. Contract 4.16. */
import type { Catalogue } from '../../catalogue/types.ts';
import { hasFormat } from '../../catalogue/types.ts';
import type { Database } from '../../db/database.ts';
import type { Encryption } from '../../db/encryption.ts';
import { findCallersOfKeys } from '../../db/queries/api-keys.ts';
import { repeat } from '../../domain/background-loop.ts';
import type { TextServices } from '../text/services.ts';
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

  async function removeWhenEnded(session: Session): Promise<void> {
    await session.ended;
    sessions.delete(session);
    places.leave(session.parts.caller.account.id);
  }

  return {
    isOffered: () => isOffered(text.catalogue),
    secrets,

    open: async (request) => {
      const session = await openSession(request, { text, places, secrets });
      sessions.add(session);
      void removeWhenEnded(session);
      session.start();
    },

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
      await checks.stop();
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
