/**
 * `finish_tasks` ends tasks: for each its money, its final status, its event and the deliveries, in one statement and
 * so in one round trip. A process that stops cannot stop between its locks. A busy account costs one wait for its lock
 * and one commit for all of its tasks, and the create calls that need the same lock wait once. A task that is final
 * does not change. An item that cannot be ended fails them all.
 *
 * `place` is the position of the item, from 1. `completed_at` comes from the caller, because the payload of the event
 * contains it; the transfer gets its time here, so that an account's transfers are in the order in which they happened.
 * `delivery_ids` of an item are ids to choose from, at least as many as an account has endpoints.
 */
export const FINISH_TASKS = /* sql */ `
CREATE OR REPLACE FUNCTION finish_task(task_id text, task_created_at timestamptz, final_status text, new_resolution_id text,
  completed timestamptz, new_output jsonb, new_error_code text, new_error_message text, event_id text, event_type text,
  event_payload text, new_delivery_ids text[], OUT applied boolean, OUT delivery_ids text[], OUT task tasks)
LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
  held transfers;
BEGIN
  delivery_ids := '{}';
  SELECT * INTO STRICT task FROM tasks WHERE id = task_id AND created_at = task_created_at FOR NO KEY UPDATE;
  applied := task.status NOT IN ('succeeded', 'failed');
  IF NOT applied THEN RETURN; END IF;

  SELECT * INTO held FROM transfers WHERE id = task.reservation_id AND opened_at = task.created_at;
  IF held.id IS NULL THEN
    RAISE EXCEPTION 'task % has lost its reservation %', task.id, task.reservation_id
      USING ERRCODE = 'foreign_key_violation';
  END IF;
  PERFORM FROM accounts WHERE id = task.account_id FOR NO KEY UPDATE;
  INSERT INTO transfers (id, opened_at, created_at, kind, debit, credit, amount, signup_amount, pending_id, account_id,
    api_key_id, task_id)
  SELECT new_resolution_id, task.created_at, greatest(clock_timestamp(), held.created_at), kind, 'reserved', credit,
    held.amount, held.signup_amount, held.id, task.account_id, task.api_key_id, task.id
  FROM (VALUES ('succeeded', 'settlement', 'revenue'), ('failed', 'refund', 'available')) AS by(status, kind, credit)
  WHERE status = final_status;

  UPDATE tasks SET status = final_status, resolution_id = new_resolution_id, output = new_output,
    error_code = new_error_code, error_message = new_error_message, completed_at = completed, updated_at = completed
  WHERE id = task_id AND created_at = task_created_at RETURNING * INTO task;

  IF event_id IS NULL THEN RETURN; END IF;
  INSERT INTO events (id, account_id, type, task_id, payload, created_at)
  VALUES (event_id, task.account_id, event_type, task.id, event_payload, completed);
  WITH wanted AS (
    SELECT id, row_number() OVER (ORDER BY id) AS place FROM webhook_endpoints
    WHERE account_id = task.account_id AND deleted_at IS NULL AND disabled_at IS NULL AND event_type = ANY (events)
  ), inserted AS (
    INSERT INTO deliveries (id, event_id, endpoint_id, account_id, task_id, created_at)
    SELECT new_delivery_ids[place], event_id, wanted.id, task.account_id, task.id, completed FROM wanted
    RETURNING id
  )
  SELECT coalesce(array_agg(id ORDER BY id), '{}') INTO delivery_ids FROM inserted;
END $$;
CREATE OR REPLACE FUNCTION finish_tasks(items jsonb)
RETURNS TABLE (place bigint, applied boolean, delivery_ids text[], task tasks)
LANGUAGE plpgsql SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  -- Tasks before accounts, and each in the order that all statements use, so that two batches never wait for each
  -- other.
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
`;
