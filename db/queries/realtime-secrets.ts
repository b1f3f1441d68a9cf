/** The client secrets of realtime sessions: contract 4.16. Nothing here finds a secret that has expired or is erased. */
import type { Transport } from '../../domain/realtime.ts';
import { type Database, secondsFromNow } from '../database.ts';
import { camelCased, columnsOf, type RowOf } from '../row.ts';
import { isDue } from './content.ts';

export interface RealtimeSecret {
  readonly id: string;
  readonly accountId: string;
  readonly apiKeyId: string;
  readonly model: string;
  readonly encryptedSettings: Buffer;
  readonly allowedOrigins: readonly string[];
  readonly transports: readonly Transport[];
  readonly sessionSeconds: number;
}

/** @param digest the SHA-256 of the secret @param seconds how long it opens sessions @returns when it expires */
export async function insertRealtimeSecret(
  database: Database,
  { seconds, ...secret }: RealtimeSecret & { readonly digest: Buffer; readonly seconds: number },
): Promise<Date> {
  const [row] = await database('realtime_secrets')
    .insert({ ...columnsOf(secret), expires_at: secondsFromNow(database, seconds) })
    .returning<{ expires_at: Date }[]>('expires_at');
  if (row === undefined) throw new Error('an insert returns its row');
  return row.expires_at;
}

export async function findRealtimeSecret(database: Database, digest: Buffer): Promise<RealtimeSecret | null> {
  const { rows } = await database.raw<{ rows: RowOf<RealtimeSecret>[] }>(
    /* sql */ `
    SELECT secret.id, account_id, api_key_id, model, encrypted_settings, allowed_origins, transports, session_seconds
    FROM realtime_secrets AS secret JOIN accounts AS owner ON owner.id = account_id
    WHERE digest = :digest AND expires_at > now() AND NOT ${isDue('secret.created_at')}`,
    { digest },
  );
  const [row] = rows;
  return row === undefined ? null : camelCased(row);
}
