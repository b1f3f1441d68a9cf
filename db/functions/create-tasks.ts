/**
 * `create_tasks` is the create call's one transaction: for each task it checks the key and the account again under
 * their locks, reserves the price, writes the task and completes its idempotency key. It takes many tasks at once, so
 * that a busy account costs one lock, one move of its balance and one commit for all of them. Each task has an outcome
 * of its own: `created`, `claim_lost` or a refusal of `task_refusal`. Uploads that a created task uses are marked as
 * used.
 *
 * @param again the tasks were sent before and the answer was lost: tasks that exist are `created`
 */
export const CREATE_TASKS = /* sql */ `
CREATE OR REPLACE FUNCTION complete_idempotency_claim(owner_id text, claim jsonb) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  UPDATE idempotency_keys SET completed_at = now(), expires_at = now() + interval '24 hours',
    status = (claim->>'status')::integer, sealed_body = decode(claim->>'sealed_body', 'base64')
  WHERE account_id = owner_id AND key = claim->>'key' AND claim_token = (claim->>'claim_token')::uuid
    AND completed_at IS NULL;
  RETURN FOUND;
END $$;

-- Why a task of that price cannot be created, given its account and key; null if it can.
CREATE OR REPLACE FUNCTION task_refusal(owner accounts, used_key api_keys, running bigint, price numeric,
  max_tasks integer)
RETURNS text LANGUAGE sql STABLE AS $$
  SELECT CASE
    WHEN used_key.deleted_at IS NOT NULL THEN 'key_deleted'
    WHEN owner.suspended_at IS NOT NULL THEN 'account_suspended'
    WHEN used_key.disabled_at IS NOT NULL THEN 'key_disabled'
    WHEN used_key.expires_at <= now() THEN 'key_expired'
    WHEN used_key.used - used_key.reserved >= used_key.usage_limit THEN 'key_exhausted'
    WHEN owner.topped_up_at IS NULL THEN 'never_topped_up'
    WHEN used_key.used + price > used_key.usage_limit THEN 'key_limit'
    WHEN owner.signup_available + owner.funded_available < price THEN 'insufficient_credits'
    WHEN running >= coalesce(owner.max_concurrent_tasks, max_tasks) THEN 'too_many_tasks'
  END
$$;

CREATE OR REPLACE FUNCTION create_tasks(items jsonb, again boolean) RETURNS TABLE (id text, outcome text)
LANGUAGE plpgsql AS $$
DECLARE
  item jsonb;
  price numeric(38,0);
  from_signup numeric(38,0);
  running bigint;
  accepted jsonb[] := '{}';
  -- As they will be once the tasks accepted so far are written.
  owner accounts%ROWTYPE;
  used_key api_keys%ROWTYPE;
BEGIN
  -- Every batch has this order, so that two batches never wait for each other's accounts or keys.
  FOR item IN SELECT value FROM jsonb_array_elements(items)
    ORDER BY value->>'account_id', value->>'api_key_id', value->>'id'
  LOOP
    IF owner.id IS DISTINCT FROM item->>'account_id' THEN
      SELECT * INTO STRICT owner FROM accounts WHERE accounts.id = item->>'account_id' FOR NO KEY UPDATE;
      IF owner.has_promo THEN
        owner.signup_available := owner.signup_available - expired_promo(owner.id);
      END IF;
      SELECT count(*) INTO running FROM tasks
        WHERE account_id = owner.id AND status IN ('queued', 'processing');
    END IF;
    IF used_key.id IS DISTINCT FROM item->>'api_key_id' THEN
      SELECT * INTO STRICT used_key FROM api_keys
        WHERE api_keys.id = item->>'api_key_id' AND account_id = owner.id FOR NO KEY UPDATE;
    END IF;
    id := item->>'id';
    -- The first call wrote under the lock of the account, so what it wrote is visible here.
    IF again AND EXISTS (SELECT FROM tasks WHERE tasks.id = item->>'id'
      AND tasks.created_at = (item->>'created_at')::timestamptz AND account_id = owner.id) THEN
      outcome := 'created';
      RETURN NEXT;
      CONTINUE;
    END IF;
    price := (item->>'price')::numeric;
    outcome := coalesce(
      task_refusal(owner, used_key, running, price, (item->>'max_concurrent_tasks')::integer), 'created');
    IF outcome = 'created' AND jsonb_typeof(item->'idempotency') IS NOT DISTINCT FROM 'object'
      AND NOT complete_idempotency_claim(owner.id, item->'idempotency') THEN
      outcome := 'claim_lost';
    END IF;
    IF outcome = 'created' THEN
      -- Signup credit is spent first.
      from_signup := least(owner.signup_available, price);
      owner.signup_available := owner.signup_available - from_signup;
      owner.funded_available := owner.funded_available - (price - from_signup);
      used_key.used := used_key.used + price;
      used_key.reserved := used_key.reserved + price;
      running := running + 1;
      accepted := accepted || (item || jsonb_build_object('from_signup', from_signup));
    END IF;
    RETURN NEXT;
  END LOOP;

  INSERT INTO transfers (id, opened_at, created_at, kind, debit, credit, amount, signup_amount,
    account_id, api_key_id, task_id)
  SELECT task.reservation_id, task.created_at, task.created_at, 'reservation', 'available', 'reserved', task.price,
    task.from_signup, task.account_id, task.api_key_id, task.id
  FROM unnest(accepted) AS document, jsonb_to_record(document) AS task(id text, reservation_id text,
    account_id text, api_key_id text, created_at timestamptz, price numeric, from_signup numeric);

  INSERT INTO tasks (id, created_at, account_id, api_key_id, kind, model, capability_version, provider, request,
    price, billable_duration_seconds, request_id, status, reservation_id, deadline_at, next_start_at, updated_at)
  SELECT task.id, task.created_at, task.account_id, task.api_key_id, task.kind, task.model,
    task.capability_version, task.provider, task.request, task.price, task.billable_duration_seconds,
    task.request_id, 'queued', task.reservation_id, task.deadline_at, task.next_start_at, task.created_at
  FROM unnest(accepted) AS document, jsonb_to_record(document) AS task(id text, reservation_id text,
    account_id text, api_key_id text, created_at timestamptz, price numeric, kind text, model text,
    capability_version integer, provider text, request jsonb, billable_duration_seconds integer,
    request_id text, deadline_at timestamptz, next_start_at timestamptz);

  UPDATE uploads SET used_at = now()
  FROM unnest(accepted) AS document, jsonb_array_elements_text(document->'upload_ids') AS link(upload_id)
  WHERE uploads.id = link.upload_id AND uploads.account_id = document->>'account_id' AND used_at IS NULL;
END $$;
`;
