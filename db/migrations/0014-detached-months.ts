import type { Knex } from 'knex';

/**
 * Months that were detached from the ledger, from tasks and from text requests, and what they leave behind.
 *
 * - `carried_balances` and `carried_usage` hold what the transfers of detached months add up to, so that balances and what
 *   keys have used can still be compared with the ledger. Both are written by `detach_month` in the transaction that detaches.
 * - A month goes as a whole, and only when it is over and nothing in it can change any more: `detach_month` refuses a month
 *   that has an open reservation or a running task, one that is not followed by two more, and one whose transfers are not in
 *   the sums of their days (migration 0037), from which statements are read.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(/* sql */ `
    CREATE TABLE carried_balances (
      account_id text COLLATE "C" NOT NULL REFERENCES accounts,
      month date NOT NULL,
      signup_available numeric(38,0) NOT NULL,
      signup_reserved numeric(38,0) NOT NULL,
      funded_available numeric(38,0) NOT NULL,
      funded_reserved numeric(38,0) NOT NULL,
      PRIMARY KEY (account_id, month)
    );
    CREATE TABLE carried_usage (
      api_key_id text COLLATE "C" NOT NULL REFERENCES api_keys,
      month date NOT NULL,
      used numeric(38,0) NOT NULL,
      PRIMARY KEY (api_key_id, month)
    );
    CREATE TRIGGER carried_balances_are_kept BEFORE UPDATE OR DELETE ON carried_balances
      FOR EACH ROW EXECUTE FUNCTION refuse_change();
    CREATE TRIGGER carried_balances_not_truncated BEFORE TRUNCATE ON carried_balances
      FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
    CREATE TRIGGER carried_usage_is_kept BEFORE UPDATE OR DELETE ON carried_usage
      FOR EACH ROW EXECUTE FUNCTION refuse_change();
    CREATE TRIGGER carried_usage_not_truncated BEFORE TRUNCATE ON carried_usage
      FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

    CREATE FUNCTION detach_month(month date) RETURNS void LANGUAGE plpgsql AS $$
    DECLARE
      suffix text := to_char(month, '_YYYY_MM');
      begins timestamptz := month::timestamp AT TIME ZONE 'UTC';
      ends timestamptz := (month + interval '1 month') AT TIME ZONE 'UTC';
    BEGIN
      IF month <> date_trunc('month', month)::date THEN
        RAISE EXCEPTION '% is not the first day of a month', month USING ERRCODE = 'invalid_parameter_value';
      END IF;
      IF ends + interval '2 months' > now() THEN
        RAISE EXCEPTION 'the month % is too young', to_char(month, 'YYYY-MM')
          USING ERRCODE = 'object_not_in_prerequisite_state';
      END IF;
      IF to_regclass('transfers' || suffix) IS NULL OR NOT EXISTS (
        SELECT 1 FROM pg_inherits WHERE inhparent = 'transfers'::regclass
          AND inhrelid = to_regclass('transfers' || suffix)) THEN
        RAISE EXCEPTION 'the month % is not attached', to_char(month, 'YYYY-MM')
          USING ERRCODE = 'object_not_in_prerequisite_state';
      END IF;
      -- Nobody writes to the month from here on.
      LOCK TABLE transfers, tasks, submissions, text_requests IN ACCESS EXCLUSIVE MODE;
      PERFORM 1 FROM transfers AS held WHERE opened_at >= begins AND opened_at < ends AND kind = 'reservation'
        AND NOT EXISTS (SELECT 1 FROM transfers AS resolution
          WHERE resolution.pending_id = held.id AND resolution.opened_at = held.opened_at);
      IF FOUND THEN
        RAISE EXCEPTION 'money of % is still held', to_char(month, 'YYYY-MM')
          USING ERRCODE = 'object_not_in_prerequisite_state';
      END IF;
      PERFORM FROM transfers WHERE opened_at >= begins AND opened_at < ends
        AND created_at >= (SELECT before FROM daily_usage_summed);
      IF FOUND THEN
        RAISE EXCEPTION 'transfers of % are not in the sums of their days yet: let the schedule genway-sweep run first',
          to_char(month, 'YYYY-MM') USING ERRCODE = 'object_not_in_prerequisite_state';
      END IF;

      INSERT INTO carried_balances
      SELECT account_id, month,
        sum(to_available * signup_amount + released_signup),
        sum(to_reserved * signup_amount - released_signup),
        sum(to_available * (amount - signup_amount) + released - released_signup),
        sum(to_reserved * (amount - signup_amount) - (released - released_signup))
      FROM transfers, LATERAL (SELECT
        (credit = 'available')::int - (debit = 'available')::int AS to_available,
        (credit = 'reserved')::int - (debit = 'reserved')::int AS to_reserved) AS signs
      WHERE opened_at >= begins AND opened_at < ends GROUP BY account_id;
      INSERT INTO carried_usage
      SELECT api_key_id, month, sum(CASE kind WHEN 'reservation' THEN amount WHEN 'excess' THEN amount
        WHEN 'settlement' THEN -released WHEN 'refund' THEN -amount ELSE 0 END)
      FROM transfers WHERE opened_at >= begins AND opened_at < ends AND api_key_id IS NOT NULL GROUP BY api_key_id;

      -- Transfers first, and without their reference to tasks: it would keep those.
      EXECUTE format('ALTER TABLE transfers DETACH PARTITION %I', 'transfers' || suffix);
      EXECUTE format('ALTER TABLE %I DROP CONSTRAINT transfers_task_exists', 'transfers' || suffix);
      EXECUTE format('ALTER TABLE tasks DETACH PARTITION %I', 'tasks' || suffix);
      EXECUTE format('ALTER TABLE submissions DETACH PARTITION %I', 'submissions' || suffix);
      EXECUTE format('ALTER TABLE text_requests DETACH PARTITION %I', 'text_requests' || suffix);
    END $$;
  `);
}
