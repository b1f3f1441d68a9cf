import type { Knex } from 'knex';

/**
 * `create_tasks` is the create call's one transaction: for each task it checks the key and the account again under their
 * locks, reserves the price, writes the task and completes its idempotency key. It takes many tasks at once so that a busy
 * account costs one lock and one commit for all of them; each task gets an outcome of its own:
 * `created`, `claim_lost`, `key_deleted`, `key_disabled`, `key_expired`, `key_exhausted`, `key_limit`, `never_topped_up`,
 * `too_many_tasks` or `insufficient_credits`.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(/* sql */ `
    CREATE FUNCTION create_task(item jsonb) RETURNS text LANGUAGE plpgsql AS $$
    DECLARE
      task_created_at timestamptz := (item->>'created_at')::timestamptz;
      task_price numeric(38,0) := (item->>'price')::numeric;
      task_account_id text := item->>'account_id';
      owner accounts%ROWTYPE;
      used_key api_keys%ROWTYPE;
      from_signup numeric(38,0);
    BEGIN
      SELECT * INTO STRICT owner FROM accounts WHERE id = task_account_id FOR NO KEY UPDATE;
      SELECT * INTO STRICT used_key FROM api_keys
        WHERE id = item->>'api_key_id' AND account_id = owner.id FOR NO KEY UPDATE;
      IF used_key.deleted_at IS NOT NULL THEN RETURN 'key_deleted'; END IF;
      IF used_key.disabled_at IS NOT NULL THEN RETURN 'key_disabled'; END IF;
      IF used_key.expires_at <= now() THEN RETURN 'key_expired'; END IF;
      IF used_key.used >= used_key.usage_limit THEN RETURN 'key_exhausted'; END IF;
      IF owner.topped_up_at IS NULL THEN RETURN 'never_topped_up'; END IF;
      IF used_key.used + task_price > used_key.usage_limit THEN RETURN 'key_limit'; END IF;
      IF owner.signup_available + owner.funded_available < task_price THEN RETURN 'insufficient_credits'; END IF;
      IF (SELECT count(*) FROM tasks WHERE account_id = owner.id AND status IN ('queued', 'processing'))
        >= coalesce(owner.max_concurrent_tasks, (item->>'max_concurrent_tasks')::integer) THEN
        RETURN 'too_many_tasks';
      END IF;

      IF jsonb_typeof(item->'idempotency') = 'object' THEN
        UPDATE idempotency_keys SET completed_at = now(), expires_at = now() + interval '24 hours',
          status = (item->'idempotency'->>'status')::integer,
          sealed_body = decode(item->'idempotency'->>'sealed_body', 'base64')
        WHERE account_id = owner.id AND key = item->'idempotency'->>'key'
          AND claim_token = (item->'idempotency'->>'claim_token')::uuid AND completed_at IS NULL;
        IF NOT FOUND THEN RETURN 'claim_lost'; END IF;
      END IF;

      -- Signup credit is spent first.
      from_signup := least(owner.signup_available, task_price);
      INSERT INTO transfers (id, opened_at, created_at, kind, debit, credit, amount, signup_amount,
        account_id, api_key_id, task_id)
      VALUES (item->>'reservation_id', task_created_at, task_created_at, 'reservation', 'available', 'reserved',
        task_price, from_signup, owner.id, used_key.id, item->>'id');
      INSERT INTO tasks (id, created_at, account_id, api_key_id, kind, model, capability_version, provider, request,
        price, billable_duration_seconds, request_id, status, reservation_id, deadline_at, next_start_at, updated_at)
      VALUES (item->>'id', task_created_at, owner.id, used_key.id, item->>'kind', item->>'model',
        (item->>'capability_version')::integer, item->>'provider', item->'request', task_price,
        (item->>'billable_duration_seconds')::integer, item->>'request_id', 'queued', item->>'reservation_id',
        (item->>'deadline_at')::timestamptz, (item->>'next_start_at')::timestamptz, task_created_at);
      RETURN 'created';
    END $$;

    CREATE FUNCTION create_tasks(items jsonb) RETURNS TABLE (id text, outcome text) LANGUAGE plpgsql AS $$
    DECLARE
      item jsonb;
    BEGIN
      -- One order for everybody, so that two batches never wait for each other's accounts or keys.
      FOR item IN SELECT value FROM jsonb_array_elements(items)
        ORDER BY value->>'account_id', value->>'api_key_id', value->>'id'
      LOOP
        id := item->>'id';
        outcome := create_task(item);
        RETURN NEXT;
      END LOOP;
    END $$;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP FUNCTION create_tasks; DROP FUNCTION create_task');
}
