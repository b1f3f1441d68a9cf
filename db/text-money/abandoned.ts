import { newId } from '../../domain/ids.ts';
import type { Database } from '../database.ts';
import { IS_UNAWAITED } from './processes.ts';
import { connectionName, type TextLedger, type TextSettlement } from './ledger.ts';

/** A process that has been silent for this long is dead, unless it still has connections: then it is stalled. */
export const PROCESS_DEAD_AFTER_SECONDS = 30;
/** A process that has been silent for this long is dead, even if its host left a connection open. */
export const STALLED_PROCESS_DEAD_AFTER_SECONDS = 15 * 60;
/** No answer takes longer; older holds are released even if their process is alive. */
export const TEXT_HOLD_LIFETIME_SECONDS = 6 * 60 * 60;

/** Any number that no other advisory lock uses. */
const SWEEP_LOCK = 5_410_294;
const MAX_RELEASED = 500;

interface HoldRow {
  id: string;
  account_id: string;
  api_key_id: string;
  funded_only: boolean;
  created_at: Date;
  request_id: string;
  model: string;
  format: string;
  streamed: boolean;
  catalogue_version: string;
}

/**
 * Releases the holds of dead processes, and holds that living processes do not wait for, and records those requests as
 * abandoned. Only one caller does it at a time; for the others there is nothing to do. A stalled process keeps its
 * holds, because its upstreams are still working: released money could be spent and then be missing. If a process comes
 * back in the meantime, whoever ends a request first wins.
 *
 * @returns how many requests were ended; if above 0, there may be more
 */
export async function releaseAbandonedText(
  database: Database,
  ledger: TextLedger,
  deadAfterSeconds = PROCESS_DEAD_AFTER_SECONDS,
): Promise<number> {
  return database.transaction(async (lock) => {
    const { rows: locked } = await lock.raw<{ rows: { locked: boolean }[] }>(
      'SELECT pg_try_advisory_xact_lock(?) AS locked',
      [SWEEP_LOCK],
    );
    if (!locked[0]?.locked) return 0;
    const { rows } = await lock.raw<{ rows: HoldRow[] }>(
      /* sql */ `
      WITH living AS MATERIALIZED (
        SELECT id FROM processes
        WHERE heartbeat_at >= now() - make_interval(secs => :dead)
          OR (heartbeat_at >= now() - make_interval(secs => :stalled) AND EXISTS (SELECT 1 FROM pg_stat_activity
            WHERE datname = current_database() AND application_name = :prefix || processes.id))
      )
      SELECT * FROM text_holds AS hold
      WHERE opened_at < now() - make_interval(secs => :dead) AND (opened_at < now() - make_interval(secs => :lifetime)
        OR hold.process_id NOT IN (SELECT id FROM living) OR ${IS_UNAWAITED})
      ORDER BY opened_at LIMIT :limit`,
      {
        dead: deadAfterSeconds,
        stalled: STALLED_PROCESS_DEAD_AFTER_SECONDS,
        lifetime: TEXT_HOLD_LIFETIME_SECONDS,
        prefix: connectionName(''),
        limit: MAX_RELEASED,
      },
    );
    if (rows.length > 0) await ledger.settle(rows.map(abandonment));
    await lock.raw(
      /* sql */ `
      DELETE FROM processes WHERE heartbeat_at < now() - make_interval(secs => ?)
        AND NOT EXISTS (SELECT 1 FROM text_holds WHERE process_id = processes.id)`,
      [deadAfterSeconds],
    );
    return rows.length;
  });
}

function abandonment(row: HoldRow): TextSettlement {
  return {
    hold: {
      id: row.id,
      accountId: row.account_id,
      apiKeyId: row.api_key_id,
      fundedOnly: row.funded_only,
      createdAt: row.created_at,
      requestId: row.request_id,
      model: row.model,
      format: row.format,
      streamed: row.streamed,
      catalogueVersion: row.catalogue_version,
    },
    resolutionId: newId('transfer'),
    excessId: newId('transfer'),
    absorbedId: newId('transfer'),
    outcome: 'abandoned',
    errorCode: null,
    charge: 0n,
    modifiers: [],
    inputTokens: 0,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    outputTokens: 0,
    reasoningTokens: null,
    calls: 1,
    estimated: false,
    upstream: null,
    latencyMs: null,
    firstByteMs: null,
    givesSlotBack: true,
  };
}
