import type { Knex } from 'knex';
import { WRITE_TEXT } from './0020-text-turns.ts';

/**
 * Who a customer is to people and to other systems, and accounts that are suspended: none of their keys spends any money from
 * that moment on, in any process, because creating tasks and holding for text both ask here, under the lock of the account.
 * What is under way goes on.
 *
 * The log of operator actions also says what was done to accounts, and who read which prompt.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(/* sql */ `
    ALTER TABLE accounts
      ADD COLUMN email text CHECK (length(email) BETWEEN 3 AND 320),
      ADD COLUMN external_id text CHECK (length(external_id) BETWEEN 1 AND 200),
      ADD COLUMN suspended_at timestamptz;
    CREATE UNIQUE INDEX accounts_one_per_external_id ON accounts (external_id);

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

    ALTER TABLE operator_actions
      ALTER COLUMN task_id DROP NOT NULL,
      ALTER COLUMN task_created_at DROP NOT NULL,
      ADD COLUMN account_id text COLLATE "C" REFERENCES accounts,
      DROP CONSTRAINT operator_actions_kind_check,
      ADD CONSTRAINT operator_actions_kind_check
        CHECK (kind IN ('cancel', 'redeliver', 'read_prompt', 'edit', 'suspend', 'reopen')),
      ADD CONSTRAINT operator_actions_are_about_one_thing CHECK (
        num_nonnulls(task_id, account_id) = 1 AND (task_id IS NULL) = (task_created_at IS NULL));
    CREATE INDEX operator_actions_by_account ON operator_actions (account_id, created_at) WHERE account_id IS NOT NULL;
    DROP TRIGGER operator_actions_task_exists ON operator_actions;
    CREATE CONSTRAINT TRIGGER operator_actions_task_exists AFTER INSERT ON operator_actions
      FOR EACH ROW WHEN (NEW.task_id IS NOT NULL) EXECUTE FUNCTION check_action_task();
  `);
  // It reads the column above, so a database from before has the function that does not.
  await knex.raw(WRITE_TEXT);
}
