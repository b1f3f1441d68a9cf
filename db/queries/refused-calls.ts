/** The refused calls of keys during the last day. Equal calls of an hour share a row, and the rows are bounded. */
import { REFUSED_CALLS } from '../../domain/policy.ts';
import type { Database } from '../database.ts';
import { camelCased, columnsOf, type RowOf } from '../row.ts';
import { isDue } from './content.ts';

/** A call with a key that Genway answered with a status from 400 to 429, or with 503 before an upstream was tried. */
export interface RefusedCall {
  readonly accountId: string;
  readonly apiKeyId: string;
  /** Empty if the row stands for calls of several paths. */
  readonly method: string;
  /** Without the query, which may have a secret. Empty as `method`. */
  readonly path: string;
  readonly status: number;
  readonly code: string;
  /** `req_…` */
  readonly requestId: string;
  /** The message of the answer. */
  readonly reason: string;
}

/** Equal calls. */
export interface RefusedCalls extends Omit<RefusedCall, 'requestId' | 'reason'> {
  readonly calls: number;
  /** The latest calls, newest first, at most `REFUSED_CALLS.maxRequests`. */
  readonly requestIds: readonly string[];
  /** The reasons of these calls. */
  readonly reasons: readonly string[];
}

/** Equal calls, with the id and the reason of the latest one. */
export interface ListedRefusals extends Omit<RefusedCall, 'accountId' | 'apiKeyId'> {
  readonly calls: number;
  /** When the last of the calls was refused. */
  readonly refusedAt: Date;
}

/** A call that is found by its request's id. */
export interface FoundRefusal extends RefusedCall {
  /** When the last of the equal calls was refused. */
  readonly refusedAt: Date;
}

/** Adds calls to the rows, and removes the oldest rows beyond the limits. Writes in a fixed order, to avoid deadlocks. */
export async function recordRefusedCalls(
  database: Database,
  calls: readonly (RefusedCalls & { readonly ageMs: number })[],
): Promise<void> {
  await database.raw(
    /* sql */ `
    INSERT INTO refused_calls AS known (api_key_id, account_id, hour, method, path, status, code, request_ids, reasons, calls, refused_at)
    SELECT api_key_id, account_id, date_trunc('hour', refused_at), method, path, status, code, request_ids, reasons, calls, refused_at
    FROM json_to_recordset(:calls) AS refused (api_key_id text, account_id text, method text, path text, status integer,
      code text, request_ids text[], reasons text[], calls bigint, age_ms float8),
      LATERAL (SELECT now() - age_ms * interval '1 millisecond' AS refused_at) AS moment
    ORDER BY api_key_id, date_trunc('hour', refused_at), method, path, status, code
    ON CONFLICT ON CONSTRAINT refused_calls_pkey DO UPDATE SET
      calls = known.calls + excluded.calls,
      refused_at = greatest(known.refused_at, excluded.refused_at),
      request_ids = (excluded.request_ids || known.request_ids)[1 : :maxRequests],
      reasons = (excluded.reasons || known.reasons)[1 : :maxRequests]`,
    { calls: JSON.stringify(calls.map((call) => columnsOf(call))), maxRequests: REFUSED_CALLS.maxRequests },
  );
  await removeOldest(database, 'api_key_id', REFUSED_CALLS.perKey, new Set(calls.map(({ apiKeyId }) => apiKeyId)));
  const accountIds = new Set(calls.map(({ accountId }) => accountId));
  await removeOldest(database, 'account_id', REFUSED_CALLS.perAccount, accountIds);
}

async function removeOldest(
  database: Database,
  column: 'api_key_id' | 'account_id',
  kept: number,
  ids: ReadonlySet<string>,
): Promise<void> {
  await database.raw(
    /* sql */ `
    DELETE FROM refused_calls WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM refused_calls WHERE ctid = ANY (ARRAY(
        SELECT oldest.ctid FROM unnest(:ids::text[]) AS given(id) CROSS JOIN LATERAL (
          SELECT ctid FROM refused_calls WHERE ${column} = given.id ORDER BY refused_at DESC OFFSET :kept) AS oldest))
      FOR UPDATE SKIP LOCKED))`,
    { ids: [...ids], kept },
  );
}

/** Lists the refused calls of a key during the last day, newest first, without calls from before an erasure. */
export async function listRefusedCalls(
  database: Database,
  { accountId, apiKeyId }: Pick<RefusedCall, 'accountId' | 'apiKeyId'>,
): Promise<readonly ListedRefusals[]> {
  const { rows } = await database.raw<{ rows: RowOf<ListedRefusals, 'calls'>[] }>(
    /* sql */ `
    SELECT refused_at, method, path, status, code, request_ids[1] AS request_id, reasons[1] AS reason, calls
    FROM refused_calls JOIN accounts AS owner ON owner.id = account_id
    WHERE account_id = :accountId AND api_key_id = :apiKeyId AND refused_at > now() - make_interval(hours => :hours)
      AND NOT ${isDue('refused_at')}
    ORDER BY refused_at DESC LIMIT :limit`,
    { accountId, apiKeyId, hours: REFUSED_CALLS.keptHours, limit: REFUSED_CALLS.perKey },
  );
  return rows.map((row) => ({ ...camelCased(row), calls: Number(row.calls) }));
}

/** Finds a refused call among the latest of its kind. @param requestId `req_…` @returns null also from before an erasure */
export async function findRefusedCall(database: Database, requestId: string): Promise<FoundRefusal | null> {
  const { rows } = await database.raw<{ rows: RowOf<FoundRefusal>[] }>(
    /* sql */ `
    SELECT account_id, api_key_id, refused_at, method, path, status, code, :requestId AS request_id,
      reasons[array_position(request_ids, :requestId)] AS reason
    FROM refused_calls JOIN accounts AS owner ON owner.id = account_id
    WHERE request_ids @> ARRAY[:requestId] AND NOT ${isDue('refused_at')} LIMIT 1`,
    { requestId },
  );
  return rows[0] ? camelCased(rows[0]) : null;
}
