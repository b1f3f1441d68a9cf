import type { Knex } from 'knex';

/**
 * `finish_tasks` ends many tasks in one transaction, as `finish_task` (0009) ends each: a busy account then costs one wait for
 * its lock and one commit for all of them, and the create calls that need the same lock wait once.
 *
 * `place` is the position of the item, from 1. One that cannot be ended fails them all.
 *
 * `claim_tasks` takes the tasks whose workflows are to be started next. Every relay asks many times a second, and planning the
 * question each time costs several times what answering it does.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(/* sql */ `
    CREATE FUNCTION finish_tasks(items jsonb)
    RETURNS TABLE (place bigint, applied boolean, delivery_ids text[], task tasks)
    LANGUAGE plpgsql SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
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

    -- Accounts take turns: first whose tasks were served least lately.
    CREATE FUNCTION claim_tasks(most integer, retry_after_seconds double precision, served_account_ids text[])
    RETURNS TABLE (id text, account_id text, model text, kind text, deadline_at timestamptz, request_id text)
    LANGUAGE plpgsql SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
    #variable_conflict use_column
    BEGIN
      RETURN QUERY
        WITH served AS (
          SELECT account_id, count(*) AS times FROM unnest(served_account_ids) AS one(account_id) GROUP BY account_id),
        unstarted AS (
          SELECT id, created_at, next_start_at, coalesce(served.times, 0)
            + row_number() OVER (PARTITION BY account_id ORDER BY next_start_at) AS turn
          FROM tasks LEFT JOIN served USING (account_id)
          WHERE workflow_started_at IS NULL AND status IN ('queued', 'processing') AND next_start_at <= now()
            -- One that is late is ended by its workflow alone if an upstream may have its job.
            AND (deadline_at > now() OR EXISTS (
              SELECT FROM submissions WHERE submissions.task_id = tasks.id AND submissions.task_created_at = tasks.created_at
                AND (submissions.outcome IS NULL OR submissions.job_id IS NOT NULL OR submissions.files IS NOT NULL)))),
        -- More than are taken, for callers that ask at the same moment.
        first AS (SELECT id, created_at, next_start_at, turn FROM unstarted ORDER BY turn, next_start_at LIMIT most * 8),
        -- Materialised: as a plain subquery it could run, and lock, more than once.
        due AS MATERIALIZED (
          SELECT tasks.id, tasks.created_at FROM tasks JOIN first ON first.id = tasks.id AND first.created_at = tasks.created_at
          WHERE workflow_started_at IS NULL AND status IN ('queued', 'processing') AND tasks.next_start_at <= now()
          ORDER BY first.turn, first.next_start_at LIMIT most FOR UPDATE OF tasks SKIP LOCKED)
        UPDATE tasks SET next_start_at = now() + make_interval(secs => retry_after_seconds),
          start_attempts = start_attempts + 1
        FROM due WHERE tasks.id = due.id AND tasks.created_at = due.created_at
        RETURNING tasks.id, tasks.account_id, tasks.model, tasks.kind, tasks.deadline_at, tasks.request_id;
    END $$;
  `);
}
