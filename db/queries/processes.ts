/** The processes that serve text. One that has not been heard of for a while is dead, and its holds are released. */
import type { Database } from '../database.ts';

/** Says that the process lives, and makes it known when it is new. */
export async function recordHeartbeat(database: Database, processId: string): Promise<void> {
  await database('processes').insert({ id: processId }).onConflict('id').merge({ heartbeat_at: database.fn.now() });
}

/** Takes a process that ends in order off the list. What it still held is released like that of a dead one. */
export async function removeProcess(database: Database, processId: string): Promise<void> {
  await database('processes').where({ id: processId }).delete();
}
