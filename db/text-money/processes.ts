/** The processes that serve text. After some silence a process counts as dead, and its holds are released. */
import type { Database } from '../database.ts';

/** A heartbeat this much later than a hold was certainly written with knowledge of it. */
const HEARD_AFTER_SECONDS = 5;

/**
 * Records that the process is alive, registering it if it is new.
 *
 * @param waitsSince when the oldest text request that the process waits for began; null if there is none. It does not
 *   wait for older requests that it holds money for.
 */
export async function recordHeartbeat(database: Database, processId: string, waitsSince: Date | null): Promise<void> {
  await database('processes')
    .insert({ id: processId, waits_since: waitsSince ?? 'infinity' })
    .onConflict('id')
    .merge({ waits_since: waitsSince ?? 'infinity', heartbeat_at: database.fn.now() });
}

/**
 * SQL: whether the process of `text_holds AS hold` has reported, after the hold was made, that it does not wait for it;
 * for example because a statement arrived after it was given up.
 */
export const IS_UNAWAITED = /* sql */ `EXISTS (
  SELECT 1 FROM processes
  WHERE processes.id = hold.process_id AND waits_since > hold.created_at
    AND heartbeat_at >= hold.opened_at + interval '${HEARD_AFTER_SECONDS} seconds')`;

/** Unregisters a process that ends properly. Its remaining holds are released like those of a dead one. */
export async function removeProcess(database: Database, processId: string): Promise<void> {
  await database('processes').where({ id: processId }).delete();
}
