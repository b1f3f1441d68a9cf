import { newId } from '../../domain/ids.ts';
import type { Database } from '../database.ts';
import type { TextLedger, TextSettlement } from '../text-ledger.ts';

/** A process that has not been heard of for so long is dead. */
export const PROCESS_DEAD_AFTER_SECONDS = 30;
/** No answer takes longer; what is held beyond it is released, although its process lives. */
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
}

/**
 * Releases what dead processes held, and records those requests as abandoned. One caller at a time does it; to the others
 * there is nothing to do. The process that is waited for may turn up in the meantime: whoever ends a request first has.
 *
 * @returns how many requests were ended; as many again may be left when it is above 0
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
      SELECT * FROM text_holds AS hold
      WHERE opened_at < now() - make_interval(secs => :dead) AND (opened_at < now() - make_interval(secs => :lifetime)
        OR NOT EXISTS (SELECT 1 FROM processes
          WHERE processes.id = hold.process_id AND heartbeat_at >= now() - make_interval(secs => :dead)))
      ORDER BY opened_at LIMIT :limit`,
      { dead: deadAfterSeconds, lifetime: TEXT_HOLD_LIFETIME_SECONDS, limit: MAX_RELEASED },
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
    estimated: false,
    upstream: null,
    latencyMs: null,
    firstByteMs: null,
    givesSlotBack: true,
  };
}
