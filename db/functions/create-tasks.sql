-- `create_tasks` is the single transaction of a create call. For each task, it checks the key, the account and its
-- budgets again under their locks, reserves the price, inserts the task and completes its idempotency key. A
-- batch of tasks costs a busy account only one lock, one move of its balance and one commit. Each task has its own
-- outcome: `created`, `claim_lost` or a refusal of `task_refusal`. A task of a batch claims its line. Uploads of a created task are marked as used.
--
-- @param again the tasks were sent before with an unknown outcome: existing tasks count as `created`

CREATE OR REPLACE FUNCTION complete_idempotency_claim(owner_id text, claim jsonb, created_task_id text)
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  UPDATE idempotency_keys SET completed_at = now(), expires_at = now() + interval '24 hours',
    status = (claim->>'status')::integer, encrypted_body = decode(claim->>'encrypted_body', 'base64'),
    task_id = created_task_id
  WHERE account_id = owner_id AND key = claim->>'key' AND claim_token = (claim->>'claim_token')::uuid
    AND completed_at IS NULL;
  RETURN FOUND;
END $$;

-- Gives a waiting line of a batch its task, as a further attempt. Returns false if the line has a task, or is final.
CREATE OR REPLACE FUNCTION claim_batch_line(batch text, line_number integer, created_task_id text)
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  UPDATE batch_lines SET task_id = created_task_id, attempt = attempt + 1
  WHERE batch_id = batch AND number = line_number AND status = 'waiting' AND task_id IS NULL;
  RETURN FOUND;
END $$;

-- Returns why a task of this price cannot be created; null if it can. budget_left is the rest of the budget that leaves
-- least, null without a budget; budget_end_user is whose it is, null for a budget of the account.
CREATE OR REPLACE FUNCTION task_refusal(owner accounts, used_key api_keys, budget_left numeric, budget_end_user text,
  running bigint, price numeric, max_tasks integer)
RETURNS text LANGUAGE sql STABLE AS $$
  SELECT CASE
    WHEN used_key.deleted_at IS NOT NULL THEN 'key_deleted'
    WHEN owner.suspended_at IS NOT NULL THEN 'account_suspended'
    WHEN used_key.disabled_at IS NOT NULL THEN 'key_disabled'
    WHEN used_key.expires_at <= now() THEN 'key_expired'
    WHEN used_in_period(used_key, now()) - used_key.reserved >= used_key.usage_limit THEN 'key_exhausted'
    WHEN owner.topped_up_at IS NULL THEN 'never_topped_up'
    WHEN used_in_period(used_key, now()) + price > used_key.usage_limit THEN 'key_limit'
    WHEN price > budget_left THEN CASE WHEN budget_end_user IS NULL THEN 'budget_limit' ELSE 'end_user_limit' END
    WHEN owner.signup_available + owner.funded_available < price THEN 'insufficient_credits'
    WHEN running >= coalesce(owner.max_concurrent_tasks, max_tasks) THEN 'too_many_tasks'
  END
$$;

CREATE OR REPLACE FUNCTION create_tasks(items jsonb, again boolean) RETURNS TABLE (id text, outcome text)
LANGUAGE plpgsql AS $$
DECLARE
  item jsonb;
  task tasks;
  running bigint;
  accepted tasks[] := '{}';
  signup_amounts numeric[] := '{}';
  signup_amount numeric;
  -- The state after the tasks that were accepted so far.
  owner accounts;
  used_key api_keys;
  budget_ids text[];
  budget budgets;
  -- When the account was locked. One moment for all of its tasks: a budget renews before the first of them, or not at all.
  moment timestamptz;
BEGIN
  -- Every batch has this order, so that two batches never wait for each other's accounts or keys.
  FOR item IN SELECT value FROM jsonb_array_elements(items)
    ORDER BY value->>'account_id', value->>'api_key_id', value->>'id'
  LOOP
    task := jsonb_populate_record(NULL::tasks, item);
    id := task.id;
    IF owner.id IS DISTINCT FROM task.account_id THEN
      SELECT * INTO STRICT owner FROM accounts WHERE accounts.id = task.account_id FOR NO KEY UPDATE;
      IF owner.has_promo THEN
        owner.signup_available := owner.signup_available - expired_promo(owner.id);
      END IF;
      moment := clock_timestamp();
      SELECT count(*) INTO running FROM tasks WHERE account_id = owner.id AND status IN ('queued', 'processing');
    END IF;
    IF used_key.id IS DISTINCT FROM task.api_key_id THEN
      SELECT * INTO STRICT used_key FROM api_keys
        WHERE api_keys.id = task.api_key_id AND account_id = owner.id FOR NO KEY UPDATE;
      IF is_period_over(used_key, now()) THEN used_key := renew_period(used_key.id, now()); END IF;
    END IF;
    -- The first call wrote under the lock of the account, so what it wrote is visible here.
    IF again AND EXISTS (SELECT FROM tasks
      WHERE tasks.id = task.id AND created_at = task.created_at AND account_id = owner.id) THEN
      outcome := 'created';
      RETURN NEXT;
      CONTINUE;
    END IF;
    budget := NULL;
    budget_ids := '{}';
    IF owner.budgets_version > 0 THEN
      budget_ids := budgets_of(owner.id, task.end_user, task.model);
      budget := tightest_budget(budget_ids, owner.id, moment);
    END IF;
    outcome := coalesce(task_refusal(owner, used_key, budget.usage_limit - budget.used, budget.end_user, running,
      task.price, (item->>'max_concurrent_tasks')::integer), 'created');
    IF outcome = 'created' AND jsonb_typeof(item->'idempotency') IS NOT DISTINCT FROM 'object'
      AND NOT complete_idempotency_claim(owner.id, item->'idempotency', task.id) THEN
      outcome := 'claim_lost';
    END IF;
    IF outcome = 'created' AND task.batch_id IS NOT NULL
      AND NOT claim_batch_line(task.batch_id, (item->>'batch_line')::integer, task.id) THEN
      outcome := 'claim_lost';
    END IF;
    IF outcome = 'created' THEN
      -- Signup credit is spent first.
      signup_amount := least(owner.signup_available, task.price);
      owner.signup_available := owner.signup_available - signup_amount;
      owner.funded_available := owner.funded_available - (task.price - signup_amount);
      used_key.used := used_key.used + task.price;
      used_key.reserved := used_key.reserved + task.price;
      PERFORM count_towards_budgets(budget_ids, task.price);
      running := running + 1;
      task.status := 'queued';
      task.updated_at := task.created_at;
      accepted := accepted || task;
      signup_amounts := signup_amounts || signup_amount;
      IF jsonb_typeof(item->'upload_ids') = 'array' THEN
        UPDATE uploads SET used_at = now() WHERE account_id = owner.id AND used_at IS NULL
          AND uploads.id IN (SELECT jsonb_array_elements_text(item->'upload_ids'));
      END IF;
    END IF;
    RETURN NEXT;
  END LOOP;

  INSERT INTO transfers (id, opened_at, created_at, kind, debit, credit, amount, signup_amount,
    account_id, api_key_id, task_id)
  SELECT new.reservation_id, new.created_at, new.created_at, 'reservation', 'available', 'reserved', new.price,
    signup_amounts[new.ordinality], new.account_id, new.api_key_id, new.id
  FROM unnest(accepted) WITH ORDINALITY AS new;
  INSERT INTO tasks SELECT * FROM unnest(accepted);
END $$;
