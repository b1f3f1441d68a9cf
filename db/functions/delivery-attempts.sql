-- Functions that claim, admit and record attempts of deliveries.
--
-- PostgreSQL admits every attempt, so that the limits hold across all processes. An endpoint and an account have a
-- limited number of attempts in progress, each until `under_way_until` at the latest. An endpoint that timed out
-- several times in a row (`timeouts`) gets no attempt until `paused_until`, then one at a time until it answers. A
-- delivery that is not admitted waits in its row, as if its workflow had never started, and uses no other resources.

-- Returns how many attempts an endpoint may have in progress.
CREATE OR REPLACE FUNCTION max_concurrent_attempts(endpoint webhook_endpoints, limits jsonb) RETURNS integer
LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN endpoint.paused_until > now() THEN 0
    WHEN endpoint.timeouts >= (limits->>'timeouts_until_pause')::integer THEN 1
    ELSE (limits->>'per_endpoint')::integer END
$$;

-- The endpoints with deliveries to start. Skips from one endpoint to the next, however many deliveries each has.
CREATE OR REPLACE FUNCTION endpoints_with_deliveries_to_start() RETURNS TABLE (account_id text, endpoint_id text)
LANGUAGE sql STABLE AS $$
  WITH RECURSIVE waiting AS (
    (SELECT account_id, endpoint_id FROM deliveries WHERE workflow_started_at IS NULL AND status = 'pending'
      ORDER BY account_id, endpoint_id LIMIT 1)
    UNION ALL
    SELECT next.account_id, next.endpoint_id FROM waiting, LATERAL (
      SELECT delivery.account_id, delivery.endpoint_id FROM deliveries AS delivery
      WHERE workflow_started_at IS NULL AND status = 'pending'
        AND (delivery.account_id, delivery.endpoint_id) > (waiting.account_id, waiting.endpoint_id)
      ORDER BY delivery.account_id, delivery.endpoint_id LIMIT 1) AS next)
  SELECT account_id, endpoint_id FROM waiting
$$;

-- Claims deliveries that are due and may be attempted now, each account's first before any account's second.
CREATE OR REPLACE FUNCTION claim_deliveries(most integer, retry_after_seconds double precision, limits jsonb)
RETURNS TABLE (id text, account_id text, event_type text, attempts integer, claimed_until text) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  PERFORM pg_advisory_xact_lock(5410295);

  -- Deliveries to a deleted or disabled endpoint fail without a workflow.
  UPDATE deliveries SET status = 'failed', completed_at = now(), next_attempt_at = NULL, under_way_until = NULL
  WHERE deliveries.id = ANY (ARRAY(
    SELECT delivery.id FROM endpoints_with_deliveries_to_start() AS waiting
    JOIN webhook_endpoints AS endpoint ON endpoint.id = waiting.endpoint_id
    JOIN deliveries AS delivery ON delivery.account_id = waiting.account_id AND delivery.endpoint_id = endpoint.id
    WHERE (endpoint.deleted_at IS NOT NULL OR endpoint.disabled_at IS NOT NULL)
      AND delivery.workflow_started_at IS NULL AND delivery.status = 'pending' AND delivery.next_start_at <= now()
    LIMIT 1000 FOR UPDATE OF delivery SKIP LOCKED));

  RETURN QUERY
  WITH due AS (
    SELECT waiting.account_id, delivery.id, delivery.next_start_at,
      row_number() OVER (PARTITION BY waiting.account_id ORDER BY delivery.place, delivery.next_start_at) AS turn
    FROM endpoints_with_deliveries_to_start() AS waiting
    JOIN webhook_endpoints AS endpoint ON endpoint.id = waiting.endpoint_id,
    LATERAL (SELECT count(*) AS attempts FROM deliveries AS delivery WHERE delivery.account_id = waiting.account_id
      AND delivery.endpoint_id = endpoint.id AND under_way_until > now()) AS under_way,
    LATERAL (
      SELECT delivery.id, delivery.next_start_at, row_number() OVER (ORDER BY delivery.next_start_at) AS place
      FROM deliveries AS delivery
      WHERE delivery.account_id = waiting.account_id AND delivery.endpoint_id = endpoint.id
        AND workflow_started_at IS NULL AND status = 'pending' AND next_start_at <= now()
        -- A delivery that was requested again during an attempt is due after the attempt.
        AND (under_way_until > now()) IS NOT TRUE
      ORDER BY next_start_at
      LIMIT greatest(max_concurrent_attempts(endpoint, limits) - under_way.attempts, 0)) AS delivery),
  chosen AS (
    SELECT due.id FROM due,
    LATERAL (SELECT count(*) AS attempts FROM deliveries AS delivery
      WHERE delivery.account_id = due.account_id AND under_way_until > now()) AS under_way
    WHERE turn <= (limits->>'per_account')::integer - under_way.attempts
    ORDER BY turn, next_start_at LIMIT most),
  claimed AS MATERIALIZED (
    SELECT delivery.id FROM deliveries AS delivery WHERE delivery.id IN (SELECT chosen.id FROM chosen)
      AND workflow_started_at IS NULL AND status = 'pending' FOR UPDATE SKIP LOCKED)
  UPDATE deliveries SET next_start_at = now() + make_interval(secs => retry_after_seconds),
    under_way_until = now() + make_interval(secs => retry_after_seconds)
  FROM claimed, events
  WHERE deliveries.id = claimed.id AND events.id = deliveries.event_id
  RETURNING deliveries.id, deliveries.account_id, events.type, deliveries.attempts, deliveries.next_start_at::text;
END $$;

-- Admits an attempt, or returns why not; a delivery that has to wait is left to the relay. An attempt whose worker died
-- is admitted again.
CREATE OR REPLACE FUNCTION admit_attempt(wanted_id text, number integer, first_delay_seconds double precision,
  limits jsonb)
RETURNS TABLE (verdict text, status text, attempts integer, next_attempt_at timestamptz, scheduled integer,
  event_id text, event_type text, payload text, endpoint_id text, url text, encrypted_secret bytea,
  previous_encrypted_secret bytea) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  delivery deliveries%ROWTYPE;
  endpoint webhook_endpoints%ROWTYPE;
BEGIN
  SELECT * INTO delivery FROM deliveries WHERE id = wanted_id FOR UPDATE;
  IF NOT FOUND THEN RETURN; END IF;
  SELECT * INTO STRICT endpoint FROM webhook_endpoints WHERE id = delivery.endpoint_id;
  verdict := CASE
    WHEN delivery.status <> 'pending' OR delivery.attempts >= number THEN 'recorded'
    WHEN endpoint.deleted_at IS NOT NULL OR endpoint.disabled_at IS NOT NULL THEN 'inactive'
    WHEN number = 1 AND delivery.created_at + make_interval(secs => first_delay_seconds) > now() THEN 'not due'
    ELSE 'admitted' END;
  IF verdict = 'admitted' AND (delivery.under_way_until > now()) IS NOT TRUE THEN
    -- Excludes claims first, then other attempts of the same account.
    PERFORM pg_advisory_xact_lock_shared(5410295);
    PERFORM pg_advisory_xact_lock(hashtextextended('attempts ' || delivery.account_id, 0));
    SELECT CASE WHEN count(*) < (limits->>'per_account')::integer
        AND count(*) FILTER (WHERE busy.endpoint_id = endpoint.id) < max_concurrent_attempts(endpoint, limits)
      THEN 'admitted' ELSE 'deferred' END INTO verdict
    FROM deliveries AS busy WHERE busy.account_id = delivery.account_id AND busy.under_way_until > clock_timestamp();
  END IF;

  UPDATE deliveries SET
    workflow_started_at = CASE WHEN verdict <> 'deferred' THEN coalesce(workflow_started_at, now()) END,
    under_way_until = CASE WHEN verdict = 'admitted'
      THEN clock_timestamp() + make_interval(secs => (limits->>'lease_seconds')::integer) END,
    status = CASE WHEN verdict = 'inactive' THEN 'failed' ELSE status END,
    completed_at = CASE WHEN verdict = 'inactive' THEN now() ELSE completed_at END,
    next_attempt_at = CASE verdict WHEN 'inactive' THEN NULL
      WHEN 'not due' THEN created_at + make_interval(secs => first_delay_seconds)
      WHEN 'deferred' THEN greatest(now() + interval '1 second', endpoint.paused_until)
      ELSE next_attempt_at END,
    -- Not immediately, because its workflow has yet to end.
    next_start_at = CASE WHEN verdict = 'deferred'
      THEN greatest(now() + interval '1 second', endpoint.paused_until) ELSE next_start_at END
  WHERE id = wanted_id AND verdict <> 'recorded' RETURNING * INTO delivery;
  IF verdict = 'recorded' THEN SELECT * INTO delivery FROM deliveries WHERE id = wanted_id; END IF;

  RETURN QUERY SELECT verdict, delivery.status, delivery.attempts, delivery.next_attempt_at,
    greatest(number - delivery.schedule_from + 1, 1), event.id, event.type, event.payload, endpoint.id, endpoint.url,
    endpoint.encrypted_secret, CASE WHEN endpoint.previous_secret_until > now() THEN endpoint.previous_encrypted_secret END
  FROM events AS event WHERE event.id = delivery.event_id;
END $$;

-- Records an attempt and its consequences for the delivery and its endpoint. Recording a number again changes nothing.
CREATE OR REPLACE FUNCTION record_attempt(wanted_id text, attempt jsonb, limits jsonb)
RETURNS TABLE (status text, attempts integer, next_attempt_at timestamptz) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  delivery deliveries%ROWTYPE;
  outcome text := attempt->>'outcome';
  next_at timestamptz := (attempt->>'next_attempt_at')::timestamptz;
BEGIN
  SELECT * INTO STRICT delivery FROM deliveries WHERE id = wanted_id FOR UPDATE;
  INSERT INTO delivery_attempts (delivery_id, number, started_at, latency_ms, status, error, answer)
  SELECT wanted_id, made.number, made.started_at, made.latency_ms, made.status, made.error, made.answer
  FROM jsonb_to_record(attempt)
    AS made(number integer, started_at timestamptz, latency_ms integer, status integer, error text, answer text)
  ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN
    RETURN QUERY SELECT delivery.status, delivery.attempts, delivery.next_attempt_at;
    RETURN;
  END IF;

  -- Writes only if something changes, because every attempt of an endpoint passes here.
  IF outcome = 'delivered' THEN
    UPDATE webhook_endpoints SET failing_since = NULL, timeouts = 0, paused_until = NULL
    WHERE id = delivery.endpoint_id AND (failing_since IS NOT NULL OR timeouts > 0);
  ELSE
    UPDATE webhook_endpoints SET failing_since = coalesce(failing_since, now()),
      timeouts = CASE WHEN outcome = 'timed out' THEN timeouts + 1 ELSE 0 END,
      paused_until = CASE WHEN outcome = 'timed out' AND timeouts + 1 >= (limits->>'timeouts_until_pause')::integer
        THEN now() + make_interval(secs => (limits->>'pause_seconds')::integer) END
    WHERE id = delivery.endpoint_id AND (failing_since IS NULL OR timeouts > 0 OR outcome = 'timed out');
    UPDATE webhook_endpoints SET disabled_at = now(), disabled_reason = coalesce(attempt->>'disabled_reason',
      format('every attempt has failed for %s days', limits->>'failing_days'))
    WHERE id = delivery.endpoint_id AND disabled_at IS NULL AND (attempt->>'disabled_reason' IS NOT NULL
      OR failing_since <= now() - make_interval(days => (limits->>'failing_days')::integer));
    IF FOUND THEN next_at := NULL; END IF;
  END IF;

  RETURN QUERY
  UPDATE deliveries SET attempts = (attempt->>'number')::integer, next_attempt_at = next_at, under_way_until = NULL,
    status = ended.status, completed_at = CASE WHEN ended.status <> 'pending' THEN now() END
  FROM (SELECT CASE WHEN outcome = 'delivered' THEN 'delivered'
    -- A delivery without a started workflow was requested again during the attempt.
    WHEN next_at IS NOT NULL OR delivery.workflow_started_at IS NULL THEN 'pending'
    ELSE 'failed' END AS status) AS ended
  WHERE deliveries.id = wanted_id
  RETURNING deliveries.status, deliveries.attempts, deliveries.next_attempt_at;
END $$;
