-- `finish_tasks` ends tasks. It writes each task's settlement or refund, final status, event and deliveries in one
-- statement, so that a process that stops leaves no locks. A busy account costs one wait for its lock and one commit
-- for all of its tasks, and the create calls that need the same lock wait once. A final task does not change. If one
-- item fails, the whole statement fails.
--
-- `place` is the position of the item, from 1. `completed_at` comes from the caller, because the payload of the event
-- contains it. The function sets the time of the transfer, so that an account's transfers are in chronological order.
-- `delivery_ids` of an item are new ids, at least as many as an account has endpoints. `job` is the submission that an
-- upstream accepted, otherwise the last one, if the item applied.

CREATE OR REPLACE FUNCTION finish_tasks(items jsonb)
RETURNS TABLE (place bigint, applied boolean, delivery_ids text[], task tasks, job submissions)
LANGUAGE plpgsql SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  item record;
  held transfers;
BEGIN
  -- Tasks before accounts, and each in the order that all statements use: two batches never wait for each other.
  PERFORM FROM jsonb_to_recordset(items) AS given(id text, created_at timestamptz)
    JOIN tasks ON tasks.id = given.id AND tasks.created_at = given.created_at
    ORDER BY tasks.id FOR NO KEY UPDATE OF tasks;
  PERFORM FROM accounts WHERE id = ANY (ARRAY(
      SELECT account_id FROM jsonb_to_recordset(items) AS given(account_id text)))
    ORDER BY id FOR NO KEY UPDATE;

  FOR item IN SELECT * FROM ROWS FROM (jsonb_to_recordset(items) AS (id text, created_at timestamptz, status text,
    resolution_id text, completed_at timestamptz, output jsonb, error_code text, error_message text, cancelled_by text, event_id text,
    event_type text, payload text, delivery_ids text[])) WITH ORDINALITY
  LOOP
    place := item.ordinality;
    delivery_ids := '{}';
    job := NULL;
    SELECT * INTO STRICT task FROM tasks WHERE id = item.id AND created_at = item.created_at;
    applied := task.status NOT IN ('succeeded', 'failed');
    IF NOT applied THEN
      RETURN NEXT;
      CONTINUE;
    END IF;

    SELECT * INTO job FROM submissions WHERE task_id = item.id AND task_created_at = item.created_at
    ORDER BY outcome IS NOT DISTINCT FROM 'accepted' DESC, attempt DESC LIMIT 1;
    SELECT * INTO held FROM transfers WHERE id = task.reservation_id AND opened_at = task.created_at;
    IF held.id IS NULL THEN
      RAISE EXCEPTION 'task % has lost its reservation %', task.id, task.reservation_id
        USING ERRCODE = 'foreign_key_violation';
    END IF;
    INSERT INTO transfers (id, opened_at, created_at, kind, debit, credit, amount, signup_amount, pending_id, account_id,
      api_key_id, task_id)
    SELECT item.resolution_id, task.created_at, greatest(clock_timestamp(), held.created_at), kind, 'reserved', credit,
      held.amount, held.signup_amount, held.id, task.account_id, task.api_key_id, task.id
    FROM (VALUES ('succeeded', 'settlement', 'revenue'), ('failed', 'refund', 'available')) AS by(status, kind, credit)
    WHERE status = item.status;
    UPDATE tasks SET status = item.status, resolution_id = item.resolution_id, output = item.output,
      error_code = item.error_code, error_message = item.error_message, cancelled_by = item.cancelled_by, completed_at = item.completed_at,
      updated_at = item.completed_at
    WHERE id = item.id AND created_at = item.created_at RETURNING * INTO task;
    IF task.status = 'failed' THEN
      PERFORM count_towards_budgets(budgets_of(task.account_id, task.end_user, task.model), -task.price);
    END IF;

    IF item.event_id IS NOT NULL THEN
      INSERT INTO events (id, account_id, type, task_id, payload, created_at)
      VALUES (item.event_id, task.account_id, item.event_type, task.id, item.payload, item.completed_at);
      WITH wanted AS (
        SELECT id, row_number() OVER (ORDER BY id) AS number FROM webhook_endpoints
        WHERE account_id = task.account_id AND deleted_at IS NULL AND disabled_at IS NULL
          AND item.event_type = ANY (events)
      ), inserted AS (
        INSERT INTO deliveries (id, event_id, endpoint_id, account_id, task_id, created_at)
        SELECT item.delivery_ids[number], item.event_id, wanted.id, task.account_id, task.id, item.completed_at
        FROM wanted RETURNING id
      )
      SELECT coalesce(array_agg(id ORDER BY id), '{}') INTO delivery_ids FROM inserted;
    END IF;
    RETURN NEXT;
  END LOOP;
END $$;
