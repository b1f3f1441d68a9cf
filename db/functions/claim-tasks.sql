-- `claim_tasks` claims the tasks whose workflows start next. It is a function because every relay calls it many times a
-- second, and planning the query each time takes several times as long as running it. Accounts alternate: tasks of the
-- account with the fewest recent starts come first.

CREATE OR REPLACE FUNCTION claim_tasks(most integer, retry_after_seconds double precision, served_account_ids text[])
RETURNS TABLE (id text, account_id text, model text, kind text, price numeric, deadline_at timestamptz, request_id text)
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
        -- Only its workflow ends a task past its deadline if an upstream may have its job.
        AND (deadline_at > now() OR taken_up_at IS NOT NULL OR EXISTS (
          SELECT FROM submissions WHERE submissions.task_id = tasks.id AND submissions.task_created_at = tasks.created_at
            AND (submissions.outcome IS NULL OR submissions.job_id IS NOT NULL OR submissions.files IS NOT NULL)))),
    -- More than are claimed, because concurrent callers claim some of them.
    first AS (SELECT id, created_at, next_start_at, turn FROM unstarted ORDER BY turn, next_start_at LIMIT most * 8),
    -- Materialised: as a plain subquery it could run, and lock, more than once.
    due AS MATERIALIZED (
      SELECT tasks.id, tasks.created_at FROM tasks JOIN first ON first.id = tasks.id AND first.created_at = tasks.created_at
      WHERE workflow_started_at IS NULL AND status IN ('queued', 'processing') AND tasks.next_start_at <= now()
      ORDER BY first.turn, first.next_start_at LIMIT most FOR UPDATE OF tasks SKIP LOCKED)
    UPDATE tasks SET next_start_at = now() + make_interval(secs => retry_after_seconds)
    FROM due WHERE tasks.id = due.id AND tasks.created_at = due.created_at
    RETURNING tasks.id, tasks.account_id, tasks.model, tasks.kind, CAST(tasks.price AS numeric), tasks.deadline_at, tasks.request_id;
END $$;
