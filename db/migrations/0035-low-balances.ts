import type { Knex } from 'knex';

/**
 * Accounts that want to hear that their balance is low. The balance is what is available and what is held: it falls by
 * charges and rises by credits only, so a hold that is given back is no crossing. `low_balance_since` is when the balance was
 * announced as low; a credit that lifts it to the threshold takes that away, wherever the credit comes from, and so does a
 * new threshold. Nothing is looked at where money moves but whether the account was announced.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(/* sql */ `
    ALTER TABLE accounts
      ADD COLUMN low_balance pico_usd CHECK (low_balance > 0),
      ADD COLUMN low_balance_since timestamptz,
      ADD CONSTRAINT accounts_low_by_a_threshold CHECK (low_balance_since IS NULL OR low_balance IS NOT NULL);
    CREATE INDEX accounts_watching_their_balance ON accounts (id)
      WHERE low_balance IS NOT NULL AND low_balance_since IS NULL;

    CREATE FUNCTION balance_is_low_no_more() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      NEW.low_balance_since := NULL;
      RETURN NEW;
    END $$;
    CREATE TRIGGER accounts_low_no_more BEFORE UPDATE ON accounts FOR EACH ROW
      WHEN (OLD.low_balance_since IS NOT NULL AND (NEW.low_balance IS DISTINCT FROM OLD.low_balance
        OR NEW.signup_available + NEW.signup_reserved + NEW.funded_available + NEW.funded_reserved >= NEW.low_balance))
      EXECUTE FUNCTION balance_is_low_no_more();

    ALTER TABLE webhook_endpoints
      DROP CONSTRAINT webhook_endpoints_events_check,
      ADD CONSTRAINT webhook_endpoints_events_check CHECK (cardinality(events) > 0
        AND events <@ ARRAY['task.succeeded', 'task.failed', 'account.balance_low']);
    ALTER TABLE events
      DROP CONSTRAINT events_type_check,
      ADD CONSTRAINT events_type_check
        CHECK (type IN ('task.succeeded', 'task.failed', 'account.balance_low', 'endpoint.test')),
      DROP CONSTRAINT events_of_tasks_name_them,
      ADD CONSTRAINT events_of_tasks_name_them CHECK ((type IN ('account.balance_low', 'endpoint.test')) = (task_id IS NULL));
  `);
}
