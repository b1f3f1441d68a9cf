import type { Knex } from 'knex';

/**
 * What every table builds on: money, ids, rules that refuse a change, and partitions.
 *
 * - `pico_usd` is an amount of money. NaN is refused by name: PostgreSQL holds it to be above every number, so a balance of
 *   NaN would pay for everything.
 * - `id_created_at` reads the moment that an id carries; domain/ids.ts makes them.
 * - A rule that is a trigger reports its name as the `constraint` of the error, as CHECKs do.
 * - Tasks, transfers and text requests are partitioned by month, so that old months can be detached in one cheap step.
 *   `ensure_month_partitions` is called by every migration run and by a schedule; it never touches what exists.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(/* sql */ `
    CREATE DOMAIN pico_usd AS numeric(38,0) CHECK (VALUE >= 0 AND VALUE <> 'NaN');

    CREATE FUNCTION id_created_at(id text) RETURNS timestamptz LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
      SELECT to_timestamp(sum(36::numeric ^ (10 - place)
        * (strpos('0123456789abcdefghijklmnopqrstuvwxyz', substr(split_part(id, '_', 2), place, 1)) - 1)) / 1000)
        ::timestamptz(3)
      FROM generate_series(1, 10) AS place
    $$;

    CREATE FUNCTION ensure_month_partitions(parent text, first_month date, months integer) RETURNS integer
    LANGUAGE plpgsql AS $$
    DECLARE
      month date := date_trunc('month', first_month)::date;
      created integer := 0;
      partition text;
      definition text;
    BEGIN
      -- Two callers at once would both find a partition missing.
      PERFORM pg_advisory_xact_lock(hashtextextended('ensure_month_partitions', 0));
      FOR step IN 1..months LOOP
        partition := parent || '_' || to_char(month, 'YYYY_MM');
        IF to_regclass(partition) IS NULL THEN
          -- Whoever moves money comes to the account first, and to a top-up before that: here nobody is in between who would
          -- wait for a table that this waits for. Those who read go on, for only a table that exists already is attached
          -- without locking them out.
          LOCK TABLE top_ups IN SHARE ROW EXCLUSIVE MODE;
          LOCK TABLE accounts IN EXCLUSIVE MODE;
          EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL)', partition, parent);
          EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
            parent, partition, month::timestamp AT TIME ZONE 'UTC', (month + interval '1 month') AT TIME ZONE 'UTC');
          -- Row triggers are inherited, statement triggers are not: without them a statement that names the partition
          -- itself would slip past the rules.
          FOR definition IN
            SELECT pg_get_triggerdef(oid) FROM pg_trigger
            WHERE tgrelid = parent::regclass AND NOT tgisinternal AND (tgtype & 1) = 0
          LOOP
            EXECUTE regexp_replace(definition, ' ON (\\S+) ', format(' ON %I ', partition));
          END LOOP;
          created := created + 1;
        END IF;
        month := (month + interval '1 month')::date;
      END LOOP;
      RETURN created;
    END $$;

    CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      RAISE EXCEPTION '% of % is refused by the rule %', TG_OP, TG_TABLE_NAME, TG_NAME
        USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = TG_NAME;
    END $$;
  `);
}
