/** The processes that serve text. After some silence a process counts as dead, and its holds are released. */
import type { Database } from '../database.ts';

/** So long a silence of a process that is not dead shows that it was stalled, or the database unavailable. */
const LONG_GAP_SECONDS = 15;

export interface Heartbeat {
  /** When it was recorded, by the database's clock. */
  readonly at: Date;
  /** For how many seconds the process has been heard without a long gap. */
  readonly heardForSeconds: number;
}

interface Waits {
  /** When the oldest text request that the process waits for began; null if there is none. */
  readonly since: Date | null;
  /** When the last heartbeat was recorded; null before the first. The process waits for no older hold but those that it names. */
  readonly asOf: Date | null;
}

/** Records that the process is alive, registering it if it is new. */
export async function recordHeartbeat(database: Database, processId: string, waits: Waits): Promise<Heartbeat> {
  const { rows } = await database.raw<{ rows: { at: Date; heard_for: number }[] }>(
    /* sql */ `
    INSERT INTO processes AS known (id, waits_since, waits_as_of) VALUES (:processId, :since, :asOf)
    ON CONFLICT (id) DO UPDATE SET waits_since = EXCLUDED.waits_since, waits_as_of = EXCLUDED.waits_as_of,
      heartbeat_at = now(),
      heard_since = CASE WHEN known.heartbeat_at < now() - make_interval(secs => :gap) THEN now()
        ELSE known.heard_since END
    RETURNING heartbeat_at AS at, extract(epoch FROM now() - heard_since)::float8 AS heard_for`,
    { processId, since: waits.since ?? 'infinity', asOf: waits.asOf ?? '-infinity', gap: LONG_GAP_SECONDS },
  );
  const [row] = rows;
  if (!row) throw new Error('an INSERT that updates on conflict always returns a row');
  return { at: row.at, heardForSeconds: row.heard_for };
}

/**
 * SQL: whether the process of `text_holds AS hold` has reported, after the hold was made, that it does not wait for it;
 * for example because a statement arrived after it was given up.
 */
export const IS_UNAWAITED = /* sql */ `EXISTS (
  SELECT 1 FROM processes
  WHERE processes.id = hold.process_id AND waits_since > hold.created_at AND waits_as_of >= hold.opened_at)`;

/** Unregisters a process that ends properly. Its remaining holds are released like those of a dead one. */
export async function removeProcess(database: Database, processId: string): Promise<void> {
  await database('processes').where({ id: processId }).delete();
}
