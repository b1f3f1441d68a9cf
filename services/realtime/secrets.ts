/** The client secrets of realtime sessions: contract 4.16. */
import { randomBytes } from 'node:crypto';
import type { Database } from '../../db/database.ts';
import type { Encryption } from '../../db/encryption.ts';
import { type Caller, findCallersOfKeys } from '../../db/queries/api-keys.ts';
import { findRealtimeSecret, insertRealtimeSecret, type RealtimeSecret } from '../../db/queries/realtime-secrets.ts';
import { assertUsable } from '../../domain/api-key.ts';
import { digestToken } from '../../domain/bearer-token.ts';
import { ServiceError } from '../../domain/errors.ts';
import { newId } from '../../domain/ids.ts';
import { type JsonObject, objectOf, stringOf } from '../../domain/json.ts';
import type { Transport } from '../../domain/realtime.ts';
import { checkSession } from '../../text/realtime/settings.ts';
import { findModel } from '../text/choose-model.ts';
import type { TextServices } from '../text/services.ts';

/** A new client secret, as its creator configures it. */
export interface NewSecret {
  readonly model: string;
  /** The settings of its sessions, in the form of `session.update`. */
  readonly session: JsonObject;
  /** The end user of its sessions; null for none. */
  readonly endUser: string | null;
  readonly seconds: number;
  readonly allowedOrigins: readonly string[];
  readonly transports: readonly Transport[];
  readonly sessionSeconds: number;
}

/** A secret that opens sessions, with the caller whose key made it. */
export interface FoundSecret extends RealtimeSecret {
  readonly caller: Caller;
  readonly endUser: string | null;
}

export interface SecretStore {
  /** @throws ServiceError 400, 403 or 404 */
  create(
    caller: Caller,
    secret: NewSecret,
  ): Promise<{ readonly value: string; readonly expiresAt: Date; readonly settings: JsonObject }>;
  /** @returns null if the secret is unknown or expired, or its key cannot be used */
  find(value: string): Promise<FoundSecret | null>;
  /** The settings of the secret's sessions; null for none. */
  settingsOf(secret: FoundSecret): JsonObject | null;
}

interface SecretDependencies {
  readonly database: Database;
  readonly encryption: Encryption;
  readonly text: Pick<TextServices, 'catalogue' | 'clock'>;
}

const SECRET_PREFIX = 'ek_';
const SECRET_BYTES = 32;
const MAX_SECRET_LENGTH = 256;

export function createSecretStore({ database, encryption, text }: SecretDependencies): SecretStore {
  function decrypt({ encryptedSettings, id }: RealtimeSecret): JsonObject {
    return objectOf(JSON.parse(encryption.decrypt(encryptedSettings, id)));
  }

  return {
    create: async (caller, { model: id, session, endUser, seconds, ...restrictions }) => {
      const model = findModel('realtime', id, caller.key, text.catalogue);
      // Each session decides who answers and transcribes speech when it starts.
      const { outputTokenLimit: maxOutputTokens } = model;
      const rules = { model: model.id, maxOutputTokens, vendorAnswersSpeech: true, transcriptions: new Map() };
      const { settings } = checkSession(session, rules);
      const value = SECRET_PREFIX + randomBytes(SECRET_BYTES).toString('base64url');
      const secretId = newId('realtimeSecret');
      const expiresAt = await insertRealtimeSecret(database, {
        id: secretId,
        digest: digestToken(value),
        accountId: caller.account.id,
        apiKeyId: caller.key.id,
        model: model.id,
        encryptedSettings: encryption.encrypt(JSON.stringify({ settings, end_user: endUser }), secretId),
        ...restrictions,
        seconds,
      });
      return { value, expiresAt, settings };
    },

    find: async (value) => {
      if (!isClientSecret(value)) return null;
      const secret = await findRealtimeSecret(database, digestToken(value));
      if (secret === null) return null;
      const [caller] = await findCallersOfKeys(database, [secret.apiKeyId]);
      if (caller === undefined || refusalOfKey(caller, new Date(text.clock.nowMs())) !== null) return null;
      return { ...secret, caller, endUser: stringOf(decrypt(secret)['end_user']) || null };
    },

    settingsOf: (secret) => {
      const settings = objectOf(decrypt(secret)['settings']);
      return Object.keys(settings).length > 0 ? settings : null;
    },
  };
}

/** Whether a credential has the form of a client secret. */
export function isClientSecret(credential: string): boolean {
  return credential.startsWith(SECRET_PREFIX) && credential.length <= MAX_SECRET_LENGTH;
}

/** Why a key cannot be used now; null if it can. */
export function refusalOfKey({ key, account }: Caller, now: Date): ServiceError | null {
  try {
    assertUsable(key, account, now);
    return null;
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
}
