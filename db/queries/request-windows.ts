/** Requests counted by key and minute, over all processes. */
import type { Database } from '../database.ts';

export interface RequestWindow {
  /** This request's place in the minute, from 1. */
  readonly position: number;
  /** Until the next minute begins; at least 1. */
  readonly secondsLeft: number;
}

/** Counts one request for each id given (ids may repeat). @returns each one's place, in their order */
export async function countRequests(
  database: Database,
  apiKeyIds: readonly string[],
): Promise<readonly RequestWindow[]> {
  const { rows } = await database.raw<{ rows: { api_key_id: string; requests: string; seconds_left: string }[] }>(
    /* sql */ `
    INSERT INTO request_windows AS counted (api_key_id, window_start, requests)
    SELECT id, date_trunc('minute', now()), count(*) FROM unnest(?::text[]) AS id GROUP BY id ORDER BY id
    ON CONFLICT (api_key_id, window_start) DO UPDATE SET requests = counted.requests + EXCLUDED.requests
    RETURNING api_key_id, requests, ceil(extract(epoch FROM window_start + interval '1 minute' - now())) AS seconds_left`,
    [[...apiKeyIds]],
  );
  const windows = new Map(rows.map((row) => [row.api_key_id, row]));
  const countdown = new Map(rows.map((row) => [row.api_key_id, Number(row.requests)]));
  const windowsNewestFirst = apiKeyIds.toReversed().map((id) => {
    const position = countdown.get(id) ?? 0;
    countdown.set(id, position - 1);
    return { position, secondsLeft: Math.max(1, Number(windows.get(id)?.seconds_left)) };
  });
  return windowsNewestFirst.toReversed();
}

/** Removes the windows of past minutes, as many as `limit`. @returns how many */
export async function deleteOldRequestWindows(database: Database, limit: number): Promise<number> {
  const { rowCount } = await database.raw<{ rowCount: number }>(
    /* sql */ `
    DELETE FROM request_windows WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM request_windows WHERE window_start < now() - interval '10 minutes'
      LIMIT ? FOR UPDATE SKIP LOCKED))`,
    [limit],
  );
  return rowCount;
}
