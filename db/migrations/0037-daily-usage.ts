import type { Knex } from 'knex';

/**
 * What each account used a day, by model and key, and what its transfers of a day add up to, by kind, so that nobody has to add
 * up every request of a month, or every transfer since the account was made.
 *
 * - `daily_usage` has the sums of what began before `daily_usage_summed.before`, which moves on behind the present
 *   (db/usage-sums.ts). What began later is added from the rows themselves: together they are the sum of all rows at any moment.
 * - A request that is recorded, or changes, more than an hour after it began might miss its sum: it marks the day of its
 *   account in `late_usage`, in the transaction that writes it. Days with a mark are read from the rows until they have been
 *   summed again. All others cost the evaluation of a condition, so the path of text stays as fast as it was.
 * - `daily_transfers` has the sums of transfers before the same moment. A transfer is dated when it is written: one that is
 *   dated more than an hour earlier is added to its sum by its own transaction, in turn with whoever sums.
 * - Sums stay when the month that they are of is detached.
 *
 * Tasks are also found by their model.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(/* sql */ `
    CREATE TABLE daily_usage (
      account_id text COLLATE "C" NOT NULL,
      day date NOT NULL,
      kind text NOT NULL,
      model text NOT NULL,
      api_key_id text COLLATE "C" NOT NULL,
      requests bigint NOT NULL,
      failed bigint NOT NULL,
      input_tokens bigint NOT NULL,
      cache_read_tokens bigint NOT NULL,
      cache_write_tokens bigint NOT NULL,
      output_tokens bigint NOT NULL,
      billable_seconds bigint NOT NULL,
      charged pico_usd NOT NULL,
      PRIMARY KEY (account_id, day, kind, model, api_key_id)
    ) WITH (fillfactor = 70);
    CREATE INDEX daily_usage_by_model ON daily_usage (kind, model, day);

    CREATE TABLE daily_usage_summed (
      is_only_row boolean PRIMARY KEY DEFAULT true CHECK (is_only_row),
      before timestamptz(3) NOT NULL
    );
    INSERT INTO daily_usage_summed (before)
    SELECT date_trunc('day', least(id_created_at((SELECT min(id) FROM tasks)),
      id_created_at((SELECT min(id) FROM text_requests)), now()), 'UTC');

    CREATE TABLE late_usage (
      account_id text COLLATE "C" NOT NULL,
      day date NOT NULL
    );
    CREATE INDEX late_usage_by_day ON late_usage (account_id, day);

    CREATE FUNCTION mark_late_usage() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO late_usage VALUES (NEW.account_id, (NEW.created_at AT TIME ZONE 'UTC')::date);
      RETURN NULL;
    END $$;
    CREATE TRIGGER text_requests_recorded_late AFTER INSERT ON text_requests FOR EACH ROW
      WHEN (NEW.created_at < clock_timestamp() - interval '1 hour') EXECUTE FUNCTION mark_late_usage();
    CREATE TRIGGER text_requests_changed_late AFTER UPDATE ON text_requests FOR EACH ROW
      WHEN (NEW.created_at < clock_timestamp() - interval '1 hour') EXECUTE FUNCTION mark_late_usage();
    CREATE TRIGGER tasks_ended_late AFTER UPDATE ON tasks FOR EACH ROW
      WHEN (OLD.completed_at IS NULL AND NEW.completed_at IS NOT NULL
        AND NEW.created_at < clock_timestamp() - interval '1 hour') EXECUTE FUNCTION mark_late_usage();

    CREATE TABLE daily_transfers (
      account_id text COLLATE "C" NOT NULL,
      day date NOT NULL,
      kind text NOT NULL,
      transfers bigint NOT NULL,
      available numeric(38,0) NOT NULL,
      reserved numeric(38,0) NOT NULL,
      PRIMARY KEY (account_id, day, kind)
    ) WITH (fillfactor = 70);
    -- Finds those of an hour: rows come in the order of time, and writing one costs nothing here.
    CREATE INDEX transfers_by_time ON transfers USING brin (created_at) WITH (autosummarize = on);

    CREATE FUNCTION sum_late_transfer() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE
      summed_before timestamptz;
    BEGIN
      SELECT before INTO STRICT summed_before FROM daily_usage_summed FOR SHARE;
      IF NEW.created_at < summed_before THEN
        INSERT INTO daily_transfers AS summed
        SELECT NEW.account_id, (NEW.created_at AT TIME ZONE 'UTC')::date, NEW.kind, 1,
          NEW.amount * ((NEW.credit = 'available')::int - (NEW.debit = 'available')::int) + NEW.released,
          NEW.amount * ((NEW.credit = 'reserved')::int - (NEW.debit = 'reserved')::int) - NEW.released
        ON CONFLICT (account_id, day, kind) DO UPDATE SET transfers = summed.transfers + 1,
          available = summed.available + EXCLUDED.available, reserved = summed.reserved + EXCLUDED.reserved;
      END IF;
      RETURN NULL;
    END $$;
    CREATE TRIGGER transfers_dated_late AFTER INSERT ON transfers FOR EACH ROW
      WHEN (NEW.created_at < clock_timestamp() - interval '1 hour') EXECUTE FUNCTION sum_late_transfer();

    -- Sorts before every id of that kind from that moment on; as firstIdAt of domain/ids.ts.
    CREATE FUNCTION first_id_at(prefix text, moment timestamptz) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
      SELECT prefix || string_agg(substr('0123456789abcdefghijklmnopqrstuvwxyz',
        (floor(extract(epoch FROM moment) * 1000 / 36::numeric ^ (10 - place)) % 36)::integer + 1, 1), '' ORDER BY place)
      FROM generate_series(1, 10) AS place
    $$;

    CREATE INDEX tasks_by_model ON tasks (model, id);
  `);
}
