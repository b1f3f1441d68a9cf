-- Functions that compare the bill of a vendor with the recorded cost of its renders and text requests.

CREATE OR REPLACE FUNCTION is_as_billed(billed numeric, cost numeric, tolerance numeric) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT abs(billed - cost) <= greatest(tolerance, 5000000000)
$$;

-- Returns the same text for names such as 'Gemini 2.5 Flash' and 'gemini-2.5-flash'.
CREATE OR REPLACE FUNCTION normalized_name(name text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT regexp_replace(lower(name), '[^a-z0-9]+', '-', 'g')
$$;

-- A line that names a job is compared with the submission of that job. The jobs of a model that are as billed are compared
-- once more by their sum, in which small differences that all of them have add up. All other lines of a model are added up,
-- and compared with the other costs of the model in the month. Unknown costs are not compared.
CREATE OR REPLACE FUNCTION bill_differences(bill vendor_bills) RETURNS TABLE (
  difference text, model text, job_id text, task_id text, line integer, billed numeric, cost numeric
) LANGUAGE sql STABLE AS $$
  WITH period AS (
    SELECT bill.month::timestamp AT TIME ZONE 'UTC' AS begins_at,
      (bill.month + interval '1 month') AT TIME ZONE 'UTC' AS ends_at,
      EXISTS (SELECT FROM vendor_bills AS earlier
        WHERE earlier.vendor = bill.vendor AND earlier.month = bill.month - interval '1 month') AS follows_another
  ), lines AS (
    SELECT * FROM vendor_bill_lines AS billed WHERE billed.vendor = bill.vendor AND billed.month = bill.month
  ), billed_jobs AS (
    SELECT lines.job_id, min(lines.line) AS line, max(lines.model) AS model, sum(lines.amount) AS billed
    FROM lines WHERE lines.job_id IS NOT NULL GROUP BY lines.job_id
  ), submitted AS (
    SELECT sent.task_id, sent.submitted_at, sent.model, sent.job_id, sent.cost,
      sent.job_id IS NOT NULL AND EXISTS (SELECT FROM billed_jobs) AS is_billed_by_job
    FROM submissions AS sent, period
    -- A bill may have jobs of tasks that were created in an earlier month.
    WHERE sent.provider = ANY (bill.upstreams) AND sent.task_created_at < ends_at
      AND sent.task_created_at >= begins_at - interval '35 days' AND (sent.job_id IS NOT NULL OR sent.cost IS NOT NULL)
  ), compared_jobs AS (
    SELECT billed_jobs.job_id, billed_jobs.line, coalesce(submitted.model, billed_jobs.model, '') AS model,
      submitted.task_id, billed_jobs.billed, submitted.cost,
      is_as_billed(billed_jobs.billed, submitted.cost, submitted.cost * 0.01) AS is_as_billed
    FROM billed_jobs LEFT JOIN submitted USING (job_id)
  ), costs AS (
    SELECT request.upstream_model AS model, cost_of_text(request.*, rates.*) AS cost, 0.01 AS tolerance
    FROM period,
      text_requests AS request LEFT JOIN text_costs AS rates ON rates.version = request.catalogue_version AND rates.model = request.model
    AND rates.upstream = request.upstream AND rates.upstream_model = request.upstream_model
    WHERE request.upstream = ANY (bill.upstreams) AND request.upstream_model IS NOT NULL
      AND request.created_at >= begins_at AND request.created_at < ends_at
    UNION ALL
    SELECT attempt.upstream_model, cost_of_failed_attempt(attempt.*, rates.*), 0.01
    FROM period,
      failed_text_attempts AS attempt LEFT JOIN text_costs AS rates ON rates.version = attempt.catalogue_version AND rates.model = attempt.model
    AND rates.upstream = attempt.upstream AND rates.upstream_model = attempt.upstream_model
    WHERE attempt.upstream = ANY (bill.upstreams) AND attempt.created_at >= begins_at AND attempt.created_at < ends_at
    UNION ALL
    SELECT submitted.model, submitted.cost, 0.001 FROM submitted, period
    WHERE NOT is_billed_by_job AND submitted_at >= begins_at AND submitted_at < ends_at
  ), models AS (
    SELECT costs.model, CASE WHEN bool_and(costs.cost IS NOT NULL) THEN sum(costs.cost) END AS cost,
      sum(costs.cost * costs.tolerance) AS tolerance
    FROM costs GROUP BY costs.model
  ), known_names AS (
    SELECT named.name, (
      SELECT models.model FROM models WHERE position(normalized_name(models.model) IN normalized_name(named.name)) > 0
      ORDER BY length(models.model) DESC, models.model LIMIT 1) AS model
    FROM (SELECT DISTINCT lines.model AS name FROM lines WHERE lines.job_id IS NULL) AS named
  ), billed_models AS (
    SELECT coalesce(known.model, lines.model, '') AS model, min(lines.line) AS line, sum(lines.amount) AS billed
    FROM lines LEFT JOIN known_names AS known ON known.name = lines.model
    WHERE lines.job_id IS NULL GROUP BY 1
  )
  SELECT CASE WHEN jobs.task_id IS NULL THEN 'extra' ELSE 'wrong_price' END, jobs.model, jobs.job_id, jobs.task_id,
    jobs.line, jobs.billed, jobs.cost
  FROM compared_jobs AS jobs
  WHERE CASE WHEN jobs.task_id IS NULL THEN jobs.billed <> 0 ELSE NOT jobs.is_as_billed END
  UNION ALL
  SELECT 'wrong_price', jobs.model, NULL, NULL, min(jobs.line), sum(jobs.billed), sum(jobs.cost)
  FROM compared_jobs AS jobs WHERE jobs.is_as_billed GROUP BY jobs.model
  HAVING NOT is_as_billed(sum(jobs.billed), sum(jobs.cost), sum(jobs.cost) * 0.001)
  UNION ALL
  -- A job that was submitted on the last day of a month may stand in the bill of the next month.
  SELECT 'missing', submitted.model, submitted.job_id, submitted.task_id, NULL, NULL, submitted.cost
  FROM submitted, period
  WHERE is_billed_by_job AND submitted.cost > 0 AND submitted_at < ends_at - interval '1 day'
    AND submitted_at >= begins_at - CASE WHEN follows_another THEN interval '1 day' ELSE interval '0' END
    AND NOT EXISTS (SELECT FROM vendor_bill_lines AS billed
      WHERE billed.vendor = bill.vendor AND billed.job_id = submitted.job_id)
  UNION ALL
  SELECT CASE WHEN models.model IS NULL THEN 'extra' WHEN billed_models.model IS NULL THEN 'missing' ELSE 'wrong_price' END,
    coalesce(models.model, billed_models.model), NULL, NULL, billed_models.line, billed_models.billed, models.cost
  FROM billed_models FULL JOIN models ON models.model = billed_models.model
  WHERE NOT is_as_billed(coalesce(billed_models.billed, 0), CASE WHEN models.model IS NULL THEN 0 ELSE models.cost END,
    coalesce(models.tolerance, 0))
  ORDER BY 2, 1, 5, 4
$$;
