import type { Knex } from 'knex';

/**
 * Media tasks. Status and money agree by construction: a task is inserted with its reservation, ends with exactly one
 * resolution of the right kind, and never changes after that; it has one job at one provider. `created_at` is the time that
 * the id carries, by which every query finds the partition; the reservation and its resolution have the same `opened_at`.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(/* sql */ `
    CREATE TABLE tasks (
      id text COLLATE "C" NOT NULL CHECK (length(id) = 37 AND id ~ '^task_[0-9a-z]+$'),
      created_at timestamptz(3) NOT NULL,
      account_id text COLLATE "C" NOT NULL REFERENCES accounts,
      api_key_id text COLLATE "C" NOT NULL REFERENCES api_keys,
      kind text NOT NULL CHECK (kind IN ('image', 'video')),
      model text NOT NULL,
      capability_version integer,
      provider text NOT NULL,
      request jsonb NOT NULL,
      price pico_usd NOT NULL CHECK (price > 0),
      billable_duration_seconds integer CHECK (billable_duration_seconds > 0),
      request_id text NOT NULL,
      status text NOT NULL CHECK (status IN ('queued', 'processing', 'succeeded', 'failed')),
      reservation_id text COLLATE "C" NOT NULL,
      resolution_id text COLLATE "C",
      deadline_at timestamptz NOT NULL,
      workflow_started_at timestamptz,
      taken_up_at timestamptz,
      start_attempts integer NOT NULL DEFAULT 0,
      next_start_at timestamptz NOT NULL,
      provider_job_id text,
      output jsonb,
      error_code text CHECK (error_code IN ('content_policy_violation', 'bad_request', 'processing_unavailable',
        'processing_timeout', 'processing_failed', 'result_transfer_failed')),
      error_message text,
      updated_at timestamptz NOT NULL,
      completed_at timestamptz,
      PRIMARY KEY (id, created_at),
      CONSTRAINT tasks_id_carries_created_at CHECK (created_at = id_created_at(id)),
      CONSTRAINT tasks_final_means_resolved CHECK (
        (status IN ('succeeded', 'failed')) = (resolution_id IS NOT NULL)
        AND (resolution_id IS NULL) = (completed_at IS NULL)),
      CONSTRAINT tasks_failed_has_reason CHECK (
        (status = 'failed') = (error_code IS NOT NULL) AND (error_code IS NULL) = (error_message IS NULL)),
      CONSTRAINT tasks_succeeded_has_output CHECK ((status = 'succeeded') = (output IS NOT NULL))
    ) PARTITION BY RANGE (created_at);
    CREATE INDEX tasks_by_account ON tasks (account_id, id);
    CREATE INDEX tasks_running ON tasks (account_id) WHERE status IN ('queued', 'processing');
    CREATE INDEX tasks_to_start ON tasks (next_start_at)
      WHERE workflow_started_at IS NULL AND status IN ('queued', 'processing');
    CREATE INDEX tasks_recently_succeeded ON tasks (model, completed_at) WHERE status = 'succeeded';

    ALTER TABLE transfers ADD CONSTRAINT transfers_task_exists FOREIGN KEY (task_id, opened_at)
      REFERENCES tasks (id, created_at) DEFERRABLE INITIALLY DEFERRED;

    CREATE FUNCTION check_new_tasks() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
    DECLARE
      unlawful text;
    BEGIN
      SELECT id INTO unlawful FROM inserted WHERE status <> 'queued' LIMIT 1;
      IF FOUND THEN
        RAISE EXCEPTION 'task % must begin as queued', unlawful
          USING ERRCODE = 'check_violation', CONSTRAINT = TG_NAME;
      END IF;
      SELECT task.id INTO unlawful FROM inserted AS task
      LEFT JOIN LATERAL (
        SELECT * FROM transfers
        WHERE id = task.reservation_id AND opened_at = task.created_at AND kind = 'reservation' OFFSET 0
      ) AS held ON true
      WHERE (task.id, task.account_id, task.api_key_id, task.price)
        IS DISTINCT FROM (held.task_id, held.account_id, held.api_key_id, held.amount)
      LIMIT 1;
      IF FOUND THEN
        RAISE EXCEPTION 'task % has no reservation of its price', unlawful
          USING ERRCODE = 'foreign_key_violation', CONSTRAINT = TG_NAME;
      END IF;
      RETURN NULL;
    END $$;
    CREATE TRIGGER tasks_are_reserved AFTER INSERT ON tasks
      REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION check_new_tasks();

    CREATE FUNCTION check_task_change() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF OLD.status IN ('succeeded', 'failed') THEN
        RAISE EXCEPTION 'task % is final', OLD.id
          USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = TG_NAME;
      END IF;
      IF OLD.status = 'processing' AND NEW.status = 'queued' THEN
        RAISE EXCEPTION 'task % cannot go back to queued', OLD.id
          USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = TG_NAME;
      END IF;
      IF (OLD.id, OLD.created_at, OLD.account_id, OLD.api_key_id, OLD.kind, OLD.model, OLD.capability_version, OLD.request,
          OLD.price, OLD.billable_duration_seconds, OLD.request_id, OLD.reservation_id, OLD.deadline_at)
        IS DISTINCT FROM
         (NEW.id, NEW.created_at, NEW.account_id, NEW.api_key_id, NEW.kind, NEW.model, NEW.capability_version, NEW.request,
          NEW.price, NEW.billable_duration_seconds, NEW.request_id, NEW.reservation_id, NEW.deadline_at) THEN
        RAISE EXCEPTION 'what task % was created with cannot change', OLD.id
          USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = TG_NAME;
      END IF;
      IF OLD.provider_job_id IS NOT NULL
        AND (OLD.provider, OLD.provider_job_id) IS DISTINCT FROM (NEW.provider, NEW.provider_job_id) THEN
        RAISE EXCEPTION 'task % has its job at % already', OLD.id, OLD.provider
          USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = TG_NAME;
      END IF;
      IF NEW.resolution_id IS NOT NULL THEN
        PERFORM 1 FROM transfers WHERE id = NEW.resolution_id AND opened_at = NEW.created_at
          AND pending_id = NEW.reservation_id
          AND kind = CASE NEW.status WHEN 'succeeded' THEN 'settlement' ELSE 'refund' END;
        IF NOT FOUND THEN
          RAISE EXCEPTION 'task % has no resolution that fits %', NEW.id, NEW.status
            USING ERRCODE = 'foreign_key_violation', CONSTRAINT = TG_NAME;
        END IF;
      END IF;
      RETURN NEW;
    END $$;
    CREATE TRIGGER tasks_change_lawfully BEFORE UPDATE ON tasks FOR EACH ROW EXECUTE FUNCTION check_task_change();
    CREATE TRIGGER tasks_are_kept BEFORE DELETE ON tasks FOR EACH ROW EXECUTE FUNCTION refuse_change();
    CREATE TRIGGER tasks_not_truncated BEFORE TRUNCATE ON tasks
      FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

    -- A task's money cannot be resolved behind the task's back: at the end of the transaction both say the same.
    CREATE FUNCTION check_task_resolution() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM 1 FROM tasks WHERE id = NEW.task_id AND created_at = NEW.opened_at AND resolution_id = NEW.id;
      IF NOT FOUND THEN
        RAISE EXCEPTION 'transfer % resolves task % but the task does not say so', NEW.id, NEW.task_id
          USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = TG_NAME;
      END IF;
      RETURN NULL;
    END $$;
    CREATE CONSTRAINT TRIGGER transfers_resolve_with_their_task AFTER INSERT ON transfers
      DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
      WHEN (NEW.task_id IS NOT NULL AND NEW.pending_id IS NOT NULL) EXECUTE FUNCTION check_task_resolution();
  `);
}
