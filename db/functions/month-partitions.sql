-- Tasks, transfers, submissions and text requests are partitioned by month, so that old months can be detached in one
-- cheap step.
--
-- - `ensure_month_partitions` creates missing partitions and never changes existing ones. Every migration run and a
--   schedule call it.
-- - `detach_month` detaches a past month in which nothing can change, and writes the carried sums in the same
--   transaction. It refuses a month with an open reservation or a running task, a month that ended less than two months
--   ago, and a month whose transfers are not yet in `daily_transfers`, from which statements are read.

-- Other transactions lock some of the tables in another order: create_missing_months then gives up its locks before
-- PostgreSQL detects a deadlock, which it looks for after a second, and the caller repeats it.
CREATE OR REPLACE FUNCTION ensure_month_partitions(parent text, first_month date, months integer) RETURNS integer
LANGUAGE plpgsql SET lock_timeout = '300ms' AS $$
DECLARE
  max_attempts CONSTANT integer := 20;
BEGIN
  FOR attempt IN 1..max_attempts LOOP
    BEGIN
      RETURN create_missing_months(parent, date_trunc('month', first_month)::date, months);
    EXCEPTION WHEN lock_not_available THEN
      IF attempt = max_attempts THEN
        RAISE;
      END IF;
      PERFORM pg_sleep(random() * 0.1);
    END;
  END LOOP;
END $$;

CREATE OR REPLACE FUNCTION create_missing_months(parent text, month date, months integer) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
  created integer := 0;
  partition text;
  definition text;
BEGIN
  -- Concurrent callers would both find a partition missing.
  PERFORM pg_advisory_xact_lock(hashtextextended('ensure_month_partitions', 0));
  FOR step IN 1..months LOOP
    partition := parent || '_' || to_char(month, 'YYYY_MM');
    IF to_regclass(partition) IS NULL THEN
      -- Statements that move money lock a top-up first and the account next. With these two locks, none of them holds
      -- one and waits for a table that this function locks. Readers continue: attaching an existing table does not
      -- block them.
      LOCK TABLE top_ups IN SHARE ROW EXCLUSIVE MODE;
      LOCK TABLE accounts IN EXCLUSIVE MODE;
      EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL)', partition, parent);
      EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
        parent, partition, month::timestamp AT TIME ZONE 'UTC', (month + interval '1 month') AT TIME ZONE 'UTC');
      -- Row triggers are inherited, statement triggers are not: without them a statement that names the partition
      -- itself would evade the rules.
      FOR definition IN
        SELECT pg_get_triggerdef(oid) FROM pg_trigger
        WHERE tgrelid = parent::regclass AND NOT tgisinternal AND (tgtype & 1) = 0
      LOOP
        EXECUTE regexp_replace(definition, ' ON (\S+) ', format(' ON %I ', partition));
      END LOOP;
      created := created + 1;
    END IF;
    month := (month + interval '1 month')::date;
  END LOOP;
  RETURN created;
END $$;

CREATE OR REPLACE FUNCTION detach_month(month date) RETURNS void LANGUAGE plpgsql AS $$
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
  -- Nothing writes to the month from here on.
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
    sum(to_available * signup_amount),
    sum(to_reserved * signup_amount),
    sum(to_available * (amount - signup_amount)),
    sum(to_reserved * (amount - signup_amount))
  FROM transfers, LATERAL (SELECT
    (credit = 'available')::int - (debit = 'available')::int AS to_available,
    (credit = 'reserved')::int - (debit = 'reserved')::int AS to_reserved) AS signs
  WHERE opened_at >= begins AND opened_at < ends GROUP BY account_id;
  INSERT INTO carried_usage
  SELECT api_key_id, month, sum(amount * ((debit = 'available')::int - (credit = 'available')::int)),
    sum(amount * ((credit = 'reserved')::int - (debit = 'reserved')::int))
  FROM transfers WHERE opened_at >= begins AND opened_at < ends AND api_key_id IS NOT NULL
    AND kind IN ('reservation', 'settlement', 'refund', 'allowance', 'charge', 'release', 'excess', 'absorbed_loss') GROUP BY api_key_id;

  -- Transfers first, and without their foreign key, which would keep the tasks.
  EXECUTE format('ALTER TABLE transfers DETACH PARTITION %I', 'transfers' || suffix);
  EXECUTE format('ALTER TABLE %I DROP CONSTRAINT transfers_task_exists', 'transfers' || suffix);
  EXECUTE format('ALTER TABLE tasks DETACH PARTITION %I', 'tasks' || suffix);
  EXECUTE format('ALTER TABLE submissions DETACH PARTITION %I', 'submissions' || suffix);
  EXECUTE format('ALTER TABLE text_requests DETACH PARTITION %I', 'text_requests' || suffix);
END $$;
