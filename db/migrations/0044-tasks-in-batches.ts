import type { Knex } from 'knex';

/**
 * `finish_tasks` ends many tasks in one transaction, as `finish_task` (0009) ends each: a busy account then costs one wait for
 * its lock and one commit for all of them, and the create calls that need the same lock wait once.
 *
 * `place` is the position of the item, from 1. One that cannot be ended fails them all.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(/* sql */ `
    CREATE FUNCTION finish_tasks(items jsonb)
    RETURNS TABLE (place bigint, applied boolean, delivery_ids text[], task tasks)
    LANGUAGE plpgsql SET enable_seqscan = off AS $$
    BEGIN
      -- Tasks before accounts, and each in one order, as everybody takes them: two batches never wait for each other.
      PERFORM FROM jsonb_to_recordset(items) AS item(id text, created_at timestamptz)
        JOIN tasks ON tasks.id = item.id AND tasks.created_at = item.created_at
        ORDER BY tasks.id FOR NO KEY UPDATE OF tasks;
      PERFORM FROM accounts WHERE accounts.id = ANY (ARRAY(
          SELECT item.account_id FROM jsonb_to_recordset(items) AS item(account_id text)))
        ORDER BY accounts.id FOR NO KEY UPDATE;
      RETURN QUERY
        SELECT element.place, finished.applied, finished.delivery_ids, finished.task
        FROM jsonb_array_elements(items) WITH ORDINALITY AS element(item, place),
          jsonb_to_record(element.item) AS item(id text, created_at timestamptz, status text, resolution_id text,
            completed_at timestamptz, output jsonb, error_code text, error_message text, event_id text, event_type text,
            payload text, delivery_ids text[]),
          finish_task(item.id, item.created_at, item.status, item.resolution_id, item.completed_at, item.output,
            item.error_code, item.error_message, item.event_id, item.event_type, item.payload, item.delivery_ids)
            AS finished;
    END $$;
  `);
}
