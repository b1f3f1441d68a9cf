/** Counts requests by key, kind and minute, across all processes. */
import type { Database } from '../database.ts';

export interface RequestWindow {
  /** The position of this request in the minute, from 1. */
  readonly position: number;
  /** Seconds until the next minute; at least 1. */
  readonly secondsLeft: number;
}

/** A request to count. */
export interface CountedRequest {
  readonly apiKeyId: string;
  /** Whether the request is a read; reads are counted separately. */
  readonly reads: boolean;
}

/** The number of requests of a key in a minute. */
export interface WindowRow {
  api_key_id: string;
  reads: boolean;
  requests: string;
  seconds_left: string | number;
}

/** Counts requests, several of which may have the same key. @returns their positions, in order */
export async function countRequests(
  database: Database,
  counted: readonly CountedRequest[],
): Promise<readonly RequestWindow[]> {
  const statement = database.raw<{ rows: WindowRow[] }>(
    /* sql */ `
    INSERT INTO request_windows AS counted (api_key_id, window_start, reads, requests)
    SELECT id, date_trunc('minute', now()), reads, count(*)
    FROM unnest(:ids::text[], :reads::boolean[]) AS request(id, reads) GROUP BY id, reads ORDER BY id, reads
    ON CONFLICT (api_key_id, window_start, reads) DO UPDATE SET requests = counted.requests + EXCLUDED.requests
    RETURNING api_key_id, reads, requests,
      ceil(extract(epoch FROM window_start + interval '1 minute' - now())) AS seconds_left`,
    { ids: counted.map(({ apiKeyId }) => apiKeyId), reads: counted.map(({ reads }) => reads) },
  );
  // A named statement is planned once per connection: planning takes longer than counting.
  const { rows } = await statement.options({ name: 'count_requests' });
  return assignPositions(counted, rows);
}

/** Returns what {@link countRequests} should have returned, after an unknown outcome. Counts nothing. */
export async function readRequestCounts(
  database: Database,
  counted: readonly CountedRequest[],
): Promise<readonly RequestWindow[]> {
  const { rows } = await database.raw<{ rows: WindowRow[] }>(
    /* sql */ `
    SELECT request.id AS api_key_id, request.reads, coalesce(max(requests), 0) AS requests,
      ceil(extract(epoch FROM date_trunc('minute', now()) + interval '1 minute' - now())) AS seconds_left
    FROM unnest(:ids::text[], :reads::boolean[]) AS request(id, reads)
    LEFT JOIN request_windows AS counted ON counted.api_key_id = request.id AND counted.reads = request.reads
      AND counted.window_start = date_trunc('minute', now())
    GROUP BY request.id, request.reads`,
    { ids: counted.map(({ apiKeyId }) => apiKeyId), reads: counted.map(({ reads }) => reads) },
  );
  return assignPositions(counted, rows);
}

/** The positions of requests in their windows: consecutive numbers up to the count of each window. */
function assignPositions(counted: readonly CountedRequest[], rows: readonly WindowRow[]): readonly RequestWindow[] {
  const windows = new Map(rows.map((row) => [windowOf(row.api_key_id, row.reads), row]));
  const countdown = new Map([...windows].map(([name, row]) => [name, Number(row.requests)]));
  const newestFirst = counted.toReversed().map(({ apiKeyId, reads }) => {
    const name = windowOf(apiKeyId, reads);
    const position = countdown.get(name) ?? 0;
    countdown.set(name, position - 1);
    return { position, secondsLeft: Math.max(1, Number(windows.get(name)?.seconds_left)) };
  });
  return newestFirst.toReversed();
}

function windowOf(apiKeyId: string, reads: boolean): string {
  return `${apiKeyId} ${reads}`;
}
