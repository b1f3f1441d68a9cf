-- The statements that each step of a task needs. They are functions because their plans are kept: PostgreSQL takes
-- several times as long to plan a statement on tables with a partition a month as to run it.

CREATE OR REPLACE FUNCTION find_tasks(of_ids text[], of_created_at timestamptz[]) RETURNS SETOF tasks
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
BEGIN
  RETURN QUERY SELECT tasks.* FROM unnest(of_ids, of_created_at) AS given(id, created_at)
    JOIN tasks ON tasks.id = given.id AND tasks.created_at = given.created_at;
END $$;

-- A task with the number of its submissions, and the stored files of the one that was accepted.
CREATE OR REPLACE FUNCTION find_step(of_id text, of_created_at timestamptz)
RETURNS TABLE (task tasks, submission_count integer, stored_files jsonb)
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
BEGIN
  RETURN QUERY SELECT tasks, submitted.count::integer, submitted.files FROM tasks
    CROSS JOIN LATERAL (
      SELECT count(*), (array_agg(submissions.files) FILTER (WHERE outcome = 'accepted'))[1] AS files FROM submissions
      WHERE task_id = tasks.id AND task_created_at = tasks.created_at) AS submitted
    WHERE tasks.id = of_id AND tasks.created_at = of_created_at;
END $$;

-- Records that Temporal has accepted the workflows of these tasks. Skips final tasks.
CREATE OR REPLACE FUNCTION mark_workflows_started(of_ids text[], of_created_at timestamptz[]) RETURNS void
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
BEGIN
  UPDATE tasks SET workflow_started_at = now() FROM unnest(of_ids, of_created_at) AS given(id, created_at)
    WHERE tasks.id = given.id AND tasks.created_at = given.created_at AND workflow_started_at IS NULL
      AND status IN ('queued', 'processing');
END $$;

-- Records that a worker has started the task. Returns the task; no row for a task that has ended.
CREATE OR REPLACE FUNCTION take_up_task(of_id text, of_created_at timestamptz) RETURNS SETOF tasks
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
BEGIN
  RETURN QUERY UPDATE tasks SET taken_up_at = coalesce(taken_up_at, clock_timestamp())
    WHERE id = of_id AND created_at = of_created_at AND status IN ('queued', 'processing') RETURNING *;
END $$;

-- The submissions of some tasks, in order.
CREATE OR REPLACE FUNCTION list_submissions(of_ids text[], of_created_at timestamptz[]) RETURNS SETOF submissions
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
BEGIN
  RETURN QUERY SELECT submissions.* FROM unnest(of_ids, of_created_at) AS given(id, created_at)
    JOIN submissions ON task_id = given.id AND task_created_at = given.created_at ORDER BY attempt;
END $$;

-- Opens a submission, the fields of which are `given`. Returns no row for a task that is final or has a job.
CREATE OR REPLACE FUNCTION open_submission(given jsonb, is_rendering boolean) RETURNS SETOF submissions
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
DECLARE
  opened submissions := jsonb_populate_record(NULL::submissions, given);
BEGIN
  RETURN QUERY
    WITH task AS (
      SELECT id, created_at, provider, status FROM tasks
      WHERE id = opened.task_id AND created_at = opened.task_created_at AND status IN ('queued', 'processing')
        AND provider_job_id IS NULL
      FOR NO KEY UPDATE),
    moved AS (
      UPDATE tasks SET provider = opened.provider, updated_at = clock_timestamp(),
        status = CASE WHEN is_rendering THEN 'processing' ELSE tasks.status END
      FROM task WHERE tasks.id = task.id AND tasks.created_at = task.created_at
        AND (task.provider <> opened.provider OR (is_rendering AND task.status = 'queued')))
    INSERT INTO submissions (task_id, task_created_at, attempt, route, provider, vendor, model, fingerprint, submitted_at)
    SELECT id, created_at, opened.attempt, opened.route, opened.provider, opened.vendor, opened.model, opened.fingerprint,
      clock_timestamp() FROM task
    RETURNING *;
END $$;

-- Records the outcome of a submission, the fields of which are `given`. Returns whether this record is the first.
CREATE OR REPLACE FUNCTION settle_submission(given jsonb) RETURNS boolean
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
DECLARE
  result submissions := jsonb_populate_record(NULL::submissions, given);
BEGIN
  UPDATE submissions SET outcome = result.outcome, evidence = result.evidence, code = result.code, detail = result.detail,
    job_id = result.job_id, is_route_excluded = result.is_route_excluded, possible_loss = result.possible_loss,
    settled_at = clock_timestamp()
  WHERE task_id = result.task_id AND task_created_at = result.task_created_at AND attempt = result.attempt
    AND outcome IS NULL;
  IF NOT FOUND THEN RETURN false; END IF;
  IF result.job_id IS NOT NULL THEN
    UPDATE tasks SET status = 'processing', provider_job_id = result.job_id, updated_at = clock_timestamp()
    WHERE id = result.task_id AND created_at = result.task_created_at AND status IN ('queued', 'processing');
  END IF;
  RETURN true;
END $$;

-- Records the files of a job, once all are stored.
CREATE OR REPLACE FUNCTION record_stored_files(of_id text, of_created_at timestamptz, stored jsonb, ended timestamptz)
RETURNS void
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
BEGIN
  UPDATE submissions SET files = stored, ended_at = ended
  WHERE task_id = of_id AND task_created_at = of_created_at AND outcome = 'accepted';
END $$;
