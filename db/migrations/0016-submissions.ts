import type { Knex } from 'knex';

/**
 * Each handing over of a task to an upstream, written before its first byte is sent: a task is never rendered twice because
 * nobody knew that it was handed over. While the outcome of one is not known, or one was accepted, there is no other.
 *
 * What became of it changes once. What the upstream charged may be told later.
 *
 * A vendor's job belongs to one task, whichever upstreams lead to the vendor: two of them may name one account.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(/* sql */ `
    CREATE TABLE submissions (
      task_id text COLLATE "C" NOT NULL,
      task_created_at timestamptz(3) NOT NULL,
      attempt integer NOT NULL CHECK (attempt > 0),
      route integer NOT NULL CHECK (route >= 0),
      provider text NOT NULL,
      vendor text NOT NULL,
      model text NOT NULL,
      fingerprint text NOT NULL,
      submitted_at timestamptz NOT NULL,
      outcome text CHECK (outcome IN ('accepted', 'refused', 'not_taken', 'unknown')),
      learnt_from text,
      code text,
      detail text,
      settled_at timestamptz,
      job_id text,
      leaves_route boolean NOT NULL DEFAULT false,
      files jsonb,
      ended_at timestamptz,
      possible_loss pico_usd,
      vendor_cost jsonb,
      cost pico_usd,
      PRIMARY KEY (task_id, attempt, task_created_at),
      CONSTRAINT submissions_settled CHECK ((outcome IS NULL) = (settled_at IS NULL)
        AND (outcome IS NULL) = (learnt_from IS NULL)),
      CONSTRAINT submissions_job CHECK (job_id IS NULL OR outcome = 'accepted'),
      CONSTRAINT submissions_loss CHECK (possible_loss IS NULL OR outcome = 'unknown')
    ) PARTITION BY RANGE (task_created_at);
    CREATE UNIQUE INDEX submissions_one_at_a_time ON submissions (task_id, task_created_at)
      WHERE outcome IS NULL OR outcome = 'accepted';
    CREATE INDEX submissions_unsettled ON submissions (vendor, submitted_at) WHERE outcome IS NULL OR outcome = 'unknown';

    -- A table of its own, because a unique index on the submissions would hold within a month only.
    CREATE TABLE vendor_jobs (
      vendor text NOT NULL,
      job_id text NOT NULL,
      task_id text COLLATE "C" NOT NULL,
      claimed_at timestamptz NOT NULL DEFAULT now(),
      CONSTRAINT vendor_jobs_of_one_task PRIMARY KEY (vendor, job_id)
    );
    CREATE INDEX vendor_jobs_by_age ON vendor_jobs (claimed_at);

    CREATE FUNCTION claim_vendor_job() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF NEW.job_id IS NOT NULL AND OLD.job_id IS NULL THEN
        INSERT INTO vendor_jobs (vendor, job_id, task_id) VALUES (NEW.vendor, NEW.job_id, NEW.task_id);
      END IF;
      RETURN NULL;
    END $$;
    CREATE TRIGGER submissions_claim_jobs AFTER INSERT OR UPDATE OF job_id ON submissions
      FOR EACH ROW EXECUTE FUNCTION claim_vendor_job();

    CREATE FUNCTION check_submission_change() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF (OLD.task_id, OLD.task_created_at, OLD.attempt, OLD.route, OLD.provider, OLD.vendor, OLD.model, OLD.fingerprint,
          OLD.submitted_at)
        IS DISTINCT FROM
         (NEW.task_id, NEW.task_created_at, NEW.attempt, NEW.route, NEW.provider, NEW.vendor, NEW.model, NEW.fingerprint,
          NEW.submitted_at)
        OR (OLD.outcome IS NOT NULL AND (OLD.outcome, OLD.job_id) IS DISTINCT FROM (NEW.outcome, NEW.job_id)) THEN
        RAISE EXCEPTION 'submission % of task % is settled', OLD.attempt, OLD.task_id
          USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = TG_NAME;
      END IF;
      RETURN NEW;
    END $$;
    CREATE TRIGGER submissions_change_once BEFORE UPDATE ON submissions
      FOR EACH ROW EXECUTE FUNCTION check_submission_change();
    CREATE TRIGGER submissions_are_kept BEFORE DELETE ON submissions FOR EACH ROW EXECUTE FUNCTION refuse_change();
    CREATE TRIGGER submissions_not_truncated BEFORE TRUNCATE ON submissions
      FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
  `);
}
