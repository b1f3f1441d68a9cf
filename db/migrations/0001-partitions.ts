import type { Knex } from 'knex';

/**
 * Tasks, transfers and text requests are partitioned by month, so that old months can be detached in one cheap step.
 * `ensure_month_partitions` is called by every migration run and by a schedule; it never touches what exists.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(/* sql */ `
    CREATE FUNCTION ensure_month_partitions(parent text, first_month date, months integer) RETURNS integer
    LANGUAGE plpgsql AS $$
    DECLARE
      month date := date_trunc('month', first_month)::date;
      created integer := 0;
      partition text;
      definition text;
    BEGIN
      FOR step IN 1..months LOOP
        partition := parent || '_' || to_char(month, 'YYYY_MM');
        IF to_regclass(partition) IS NULL THEN
          EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES FROM (%L) TO (%L)',
            partition, parent, month::timestamp AT TIME ZONE 'UTC', (month + interval '1 month') AT TIME ZONE 'UTC');
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
      RAISE EXCEPTION 'rows of % are never changed or removed (%)', TG_TABLE_NAME, TG_OP
        USING ERRCODE = 'integrity_constraint_violation';
    END $$;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP FUNCTION ensure_month_partitions; DROP FUNCTION refuse_change');
}
