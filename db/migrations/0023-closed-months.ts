import type { Knex } from 'knex';

/**
 * Months whose books finance has closed. From then on no transfer is dated in such a month or before it: a correction is a new
 * row in the open month. What was closed is kept with it, as the number of transfers, what those of each kind add up to, and
 * a checksum over every row, so that reconciliation finds any row that was changed past the rules.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(/* sql */ `
    CREATE TABLE closed_months (
      month date PRIMARY KEY CHECK (month = date_trunc('month', month)::date),
      closed_at timestamptz NOT NULL DEFAULT now(),
      author text NOT NULL CHECK (author <> ''),
      transfers bigint NOT NULL,
      amounts jsonb NOT NULL,
      checksum numeric NOT NULL
    );
    CREATE TRIGGER closed_months_are_kept BEFORE UPDATE OR DELETE ON closed_months
      FOR EACH ROW EXECUTE FUNCTION refuse_change();
    CREATE TRIGGER closed_months_not_truncated BEFORE TRUNCATE ON closed_months
      FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

    -- The books of a month as they stand. The checksum does not depend on an order, so that no month has to be sorted.
    CREATE FUNCTION books_of_month(month date, OUT transfers bigint, OUT amounts jsonb, OUT checksum numeric)
    LANGUAGE sql STABLE AS $$
      WITH row AS (
        SELECT kind, amount, hashtextextended(concat_ws('|', id, kind, debit, credit, amount, signup_amount, released,
          released_signup, coalesce(pending_id, '-'), account_id, coalesce(api_key_id, '-'), coalesce(task_id, '-'),
          coalesce(text_request_id, '-'), coalesce(reference, '-'), extract(epoch FROM created_at)), 0) AS hash
        FROM transfers
        WHERE created_at >= month::timestamp AT TIME ZONE 'UTC'
          AND created_at < (month + interval '1 month') AT TIME ZONE 'UTC'
      ), of_kind AS (
        SELECT kind, count(*) AS transfers, sum(amount) AS amount, sum(hash::numeric) AS hash FROM row GROUP BY kind
      )
      SELECT coalesce(sum(of_kind.transfers), 0)::bigint, coalesce(jsonb_object_agg(kind, amount::text), '{}'),
        coalesce(sum(hash), 0)
      FROM of_kind
    $$;

    CREATE FUNCTION refuse_closed_month() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF EXISTS (SELECT FROM inserted WHERE created_at
        < (SELECT (max(month) + interval '1 month') AT TIME ZONE 'UTC' FROM closed_months)) THEN
        RAISE EXCEPTION 'a transfer is dated in a month that is closed'
          USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = TG_NAME;
      END IF;
      RETURN NULL;
    END $$;
    CREATE TRIGGER transfers_not_in_closed_months AFTER INSERT ON transfers
      REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION refuse_closed_month();
  `);
}
