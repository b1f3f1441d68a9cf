-- Media tasks, their idempotency keys, and their submissions to upstreams.
--
-- - Status and money agree by construction: a task is inserted with its reservation, ends with exactly one resolution
--   of the right kind, and never changes after that. It has one job at one provider. `created_at` is the time in the
--   id, by which every query finds the partition. The reservation and its resolution have the same time as `opened_at`.
-- - The content of a final task can be erased once: its inputs, its output, and the message of its failure. The facts
--   that the ledger needs stay.
-- - An idempotency key (contract 4.1) is a claim while `completed_at` is null: it belongs to the holder of
--   `claim_token` until `lease_until`, after which another request may take it over. Completed rows hold the first
--   response, encrypted, and are valid until `expires_at`. The response of a task whose content is erased is erased,
--   too; the task itself is the response from then on.
-- - A submission is committed before its first byte is sent, so that no task is rendered twice because a submission was
--   lost. A task gets no other submission while one has an open outcome, or after one was accepted. The outcome changes
--   once; the upstream's charge may arrive later.
-- - If a render ends after the refund of its task for a timeout, its customer can claim it until `expires_at`. The
--   claim makes a new task, which is charged and succeeds at once.
-- - A vendor's job belongs to one task, across all upstreams of the vendor: two upstreams may use one account.

CREATE TABLE idempotency_keys (
  account_id text COLLATE "C" NOT NULL REFERENCES accounts,
  key text COLLATE "C" NOT NULL CHECK (length(key) BETWEEN 1 AND 255),
  request_digest bytea NOT NULL CHECK (length(request_digest) = 32),
  claim_token uuid NOT NULL,
  lease_until timestamptz NOT NULL,
  completed_at timestamptz,
  expires_at timestamptz,
  status integer CHECK (status BETWEEN 200 AND 299),
  encrypted_body bytea,
  -- The task that the request created.
  task_id text COLLATE "C",
  PRIMARY KEY (account_id, key),
  CONSTRAINT idempotency_complete_or_not CHECK (
    num_nulls(completed_at, expires_at, status) IN (0, 3)
    AND (completed_at IS NULL) = (encrypted_body IS NULL AND task_id IS NULL))
);
CREATE INDEX idempotency_keys_by_expiry ON idempotency_keys (coalesce(expires_at, lease_until));

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
  -- The version of the customer's price list that priced it; null for the catalogue's prices.
  price_list text COLLATE "C" REFERENCES price_list_versions,
  billable_duration_seconds integer CHECK (billable_duration_seconds > 0),
  request_id text NOT NULL,
  -- The batch whose line created the task; null for a direct create.
  batch_id text COLLATE "C" CHECK (batch_id ~ '^batch_[0-9a-z]{32}$'),
  -- The end user whom the create call names; null for none, and once the name is erased.
  end_user text COLLATE "C" CHECK (length(end_user) BETWEEN 1 AND 128),
  status text NOT NULL CHECK (status IN ('queued', 'processing', 'succeeded', 'failed')),
  reservation_id text COLLATE "C" NOT NULL,
  resolution_id text COLLATE "C",
  deadline_at timestamptz NOT NULL,
  workflow_started_at timestamptz,
  taken_up_at timestamptz,
  next_start_at timestamptz NOT NULL,
  provider_job_id text,
  output jsonb,
  error_code text CHECK (error_code IN ('content_policy_violation', 'bad_request', 'processing_unavailable',
    'processing_timeout', 'processing_failed', 'result_transfer_failed')),
  error_message text,
  -- Null unless somebody cancelled the task: the specification has no error code for a cancellation.
  cancelled_by text CHECK (cancelled_by IN ('operator', 'customer')),
  updated_at timestamptz NOT NULL,
  completed_at timestamptz,
  erased_at timestamptz,
  PRIMARY KEY (id, created_at),
  CONSTRAINT tasks_id_carries_created_at CHECK (created_at = id_created_at(id)),
  CONSTRAINT tasks_final_means_resolved CHECK (
    (status IN ('succeeded', 'failed')) = (resolution_id IS NOT NULL)
    AND (resolution_id IS NULL) = (completed_at IS NULL)),
  CONSTRAINT tasks_failed_has_reason CHECK (
    (status = 'failed') = (error_code IS NOT NULL) AND (error_code IS NULL) = (error_message IS NULL)),
  CONSTRAINT tasks_cancelled_have_failed CHECK (cancelled_by IS NULL OR status = 'failed'),
  CONSTRAINT tasks_succeeded_has_output CHECK ((status = 'succeeded') = (output IS NOT NULL)),
  CONSTRAINT tasks_erased_are_final CHECK (erased_at IS NULL OR completed_at IS NOT NULL)
) PARTITION BY RANGE (created_at);
CREATE INDEX tasks_by_account ON tasks (account_id, id);
-- For the erasure of content that is older than its account allows.
CREATE INDEX tasks_with_content ON tasks (account_id, id) WHERE erased_at IS NULL;
CREATE INDEX tasks_running ON tasks (account_id) WHERE status IN ('queued', 'processing');
CREATE INDEX tasks_to_start ON tasks (next_start_at)
  WHERE workflow_started_at IS NULL AND status IN ('queued', 'processing');
CREATE INDEX tasks_recently_succeeded ON tasks (model, completed_at) WHERE status = 'succeeded';
CREATE INDEX tasks_by_batch ON tasks (batch_id) WHERE batch_id IS NOT NULL;
CREATE INDEX tasks_by_model ON tasks (model, id);
-- With everything that usage by end user adds up.
CREATE INDEX tasks_of_end_users ON tasks (account_id, created_at) INCLUDE (end_user, status, price)
  WHERE end_user IS NOT NULL;
CREATE INDEX tasks_by_end_user ON tasks (end_user, id) INCLUDE (account_id) WHERE end_user IS NOT NULL;
CREATE INDEX tasks_failed ON tasks (id) INCLUDE (created_at, error_code, cancelled_by) WHERE status = 'failed';

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
  IF OLD.status IN ('succeeded', 'failed') AND NOT (OLD.erased_at IS NULL AND NEW.erased_at IS NOT NULL
    AND to_jsonb(OLD) - ARRAY['erased_at', 'request', 'output', 'error_message', 'end_user']
      = to_jsonb(NEW) - ARRAY['erased_at', 'request', 'output', 'error_message', 'end_user']) THEN
    RAISE EXCEPTION 'task % is final', OLD.id
      USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = TG_NAME;
  END IF;
  IF NEW.erased_at IS NOT NULL THEN RETURN NEW; END IF;
  IF OLD.status = 'processing' AND NEW.status = 'queued' THEN
    RAISE EXCEPTION 'task % cannot go back to queued', OLD.id
      USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = TG_NAME;
  END IF;
  IF (OLD.id, OLD.created_at, OLD.account_id, OLD.api_key_id, OLD.kind, OLD.model, OLD.capability_version, OLD.request,
      OLD.price, OLD.price_list, OLD.billable_duration_seconds, OLD.request_id, OLD.batch_id, OLD.end_user, OLD.reservation_id,
      OLD.deadline_at)
    IS DISTINCT FROM
     (NEW.id, NEW.created_at, NEW.account_id, NEW.api_key_id, NEW.kind, NEW.model, NEW.capability_version, NEW.request,
      NEW.price, NEW.price_list, NEW.billable_duration_seconds, NEW.request_id, NEW.batch_id, NEW.end_user, NEW.reservation_id,
      NEW.deadline_at) THEN
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
CREATE TRIGGER tasks_not_truncated BEFORE TRUNCATE ON tasks FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- No transfer resolves a task's reservation without the task: at the end of the transaction both agree.
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
  evidence text,
  code text,
  detail text,
  settled_at timestamptz,
  job_id text,
  is_route_excluded boolean NOT NULL DEFAULT false,
  files jsonb,
  ended_at timestamptz,
  possible_loss pico_usd,
  vendor_cost jsonb,
  cost pico_usd,
  PRIMARY KEY (task_id, attempt, task_created_at),
  CONSTRAINT submissions_settled CHECK ((outcome IS NULL) = (settled_at IS NULL)
    AND (outcome IS NULL) = (evidence IS NULL)),
  CONSTRAINT submissions_job CHECK (job_id IS NULL OR outcome = 'accepted'),
  CONSTRAINT submissions_loss CHECK (possible_loss IS NULL OR outcome = 'unknown')
) PARTITION BY RANGE (task_created_at);
CREATE UNIQUE INDEX submissions_one_at_a_time ON submissions (task_id, task_created_at)
  WHERE outcome IS NULL OR outcome = 'accepted';
CREATE INDEX submissions_unsettled ON submissions (vendor, submitted_at) WHERE outcome IS NULL OR outcome = 'unknown';

-- A separate table, because a unique index on submissions would hold within a month only.
CREATE TABLE vendor_jobs (
  vendor text NOT NULL,
  job_id text NOT NULL,
  task_id text COLLATE "C" NOT NULL,
  claimed_at timestamptz NOT NULL DEFAULT now(),
  -- The job first: searches do not know the vendor.
  CONSTRAINT vendor_jobs_of_one_task PRIMARY KEY (job_id, vendor)
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
CREATE TRIGGER submissions_not_truncated BEFORE TRUNCATE ON submissions FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TABLE late_results (
  task_id text COLLATE "C" PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL REFERENCES accounts,
  output jsonb NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  expires_at timestamptz(3) NOT NULL,
  claimed_task_id text COLLATE "C" UNIQUE
);
CREATE INDEX late_results_by_expiry ON late_results (expires_at) WHERE claimed_task_id IS NULL;
CREATE INDEX late_results_by_account ON late_results (account_id);
