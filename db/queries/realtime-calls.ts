/** The calls over WebRTC: contract 4.16. */
import { type Database, secondsFromNow } from '../database.ts';
import { camelCased, columnsOf, type RowOf } from '../row.ts';

export interface RealtimeCall {
  readonly id: string;
  readonly accountId: string;
  readonly apiKeyId: string;
  readonly model: string;
  readonly provider: string;
  /** The end of the upstream's key. */
  readonly keyHint: string;
  readonly upstreamCallId: string;
  readonly expiresAt: Date;
}

/** A call that another process followed. */
export type AbandonedCall = Pick<RealtimeCall, 'id' | 'provider' | 'keyHint' | 'upstreamCallId'>;

/** How long a process may be silent before another process ends its calls. */
const FOLLOWED_SECONDS = 60;
const MAX_ABANDONED = 20;

export async function insertRealtimeCall(database: Database, call: RealtimeCall): Promise<void> {
  await database('realtime_calls').insert({
    ...columnsOf(call),
    followed_until: secondsFromNow(database, FOLLOWED_SECONDS),
  });
}

/** Finds a call of a key. `hasEnded` once its end is requested. */
export async function findRealtimeCall(
  database: Database,
  { id, apiKeyId }: Pick<RealtimeCall, 'id' | 'apiKeyId'>,
): Promise<(RealtimeCall & { readonly hasEnded: boolean }) | null> {
  const { rows } = await database.raw<{
    rows: (Omit<RowOf<RealtimeCall>, 'expires_at'> & { expires_at: Date; has_ended: boolean })[];
  }>(
    /* sql */ `
    SELECT id, account_id, api_key_id, model, provider, key_hint, upstream_call_id, expires_at,
      ended_at IS NOT NULL OR hang_up_requested_at IS NOT NULL OR expires_at <= now() AS has_ended
    FROM realtime_calls WHERE id = :id AND api_key_id = :apiKeyId`,
    { id, apiKeyId },
  );
  const [row] = rows;
  return row === undefined ? null : camelCased(row);
}

/** @returns false if the key has no such call */
export async function requestHangUp(
  database: Database,
  { id, apiKeyId }: Pick<RealtimeCall, 'id' | 'apiKeyId'>,
): Promise<boolean> {
  const count = await database('realtime_calls')
    .where({ id, api_key_id: apiKeyId })
    .update({ hang_up_requested_at: database.raw('coalesce(hang_up_requested_at, now())') });
  return count > 0;
}

/** The calls among `ids` whose end a client has requested. */
export async function findRequestedHangUps(database: Database, ids: readonly string[]): Promise<readonly string[]> {
  return database('realtime_calls').whereIn('id', ids).whereNotNull('hang_up_requested_at').pluck<string[]>('id');
}

/** Prolongs the time for which this process follows calls. */
export async function extendRealtimeCalls(database: Database, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await database('realtime_calls')
    .whereIn('id', ids)
    .update({ followed_until: secondsFromNow(database, FOLLOWED_SECONDS) });
}

/** Takes over calls that no process follows any more, to end them. Another process may take them over after a while. */
export async function takeAbandonedCalls(database: Database): Promise<readonly AbandonedCall[]> {
  const { rows } = await database.raw<{ rows: RowOf<AbandonedCall>[] }>(
    /* sql */ `
    UPDATE realtime_calls SET followed_until = now() + make_interval(secs => :seconds)
    WHERE id = ANY (ARRAY(
      SELECT id FROM realtime_calls WHERE ended_at IS NULL AND followed_until < now()
      ORDER BY followed_until LIMIT :limit FOR UPDATE SKIP LOCKED))
    RETURNING id, provider, key_hint, upstream_call_id`,
    { seconds: FOLLOWED_SECONDS, limit: MAX_ABANDONED },
  );
  return rows.map(camelCased);
}

export async function endRealtimeCall(database: Database, id: string): Promise<void> {
  await database('realtime_calls').where({ id }).update({ ended_at: database.fn.now() });
}
