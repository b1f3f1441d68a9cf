/** The processes that serve text. One that has not been heard of for a while is dead, and its holds are released. */
import type { Database } from '../database.ts';

/** A heartbeat that was written so much later than a hold was made when the process knew of it. */
const HEARD_AFTER_SECONDS = 5;

/**
 * Says that the process lives, and makes it known when it is new.
 *
 * @param waitsSince when the oldest text request began that the process waits for; null when there is none. Older ones that it
 *   holds money for are waited for by nobody.
 */
export async function recordHeartbeat(database: Database, processId: string, waitsSince: Date | null): Promise<void> {
  await database('processes')
    .insert({ id: processId, waits_since: waitsSince ?? 'infinity' })
    .onConflict('id')
    .merge({ waits_since: waitsSince ?? 'infinity', heartbeat_at: database.fn.now() });
}

/**
 * SQL: whether the process of `text_holds AS hold` has said since it was made that it does not wait for it, as when a statement
 * arrived after it was given up.
 */
export const IS_UNAWAITED = /* sql */ `EXISTS (
  SELECT 1 FROM processes
  WHERE processes.id = hold.process_id AND waits_since > hold.created_at
    AND heartbeat_at >= hold.opened_at + interval '${HEARD_AFTER_SECONDS} seconds')`;

/** Takes a process that ends in order off the list. What it still held is released like that of a dead one. */
export async function removeProcess(database: Database, processId: string): Promise<void> {
  await database('processes').where({ id: processId }).delete();
}
