-- Batches of text requests or media tasks: contract 4.17. The workflow `batch` runs them.
--
-- - A line is `waiting` until it has its final status. The settlement of its text request sets the status in the same
--   statement (`write_text`), and only for the current `attempt`: a process that lost its chunk to another one neither
--   answers nor charges the line.
-- - `batch_contents` has the text of each line, compressed and encrypted: its request under attempt 0, and the answer of each other attempt. An
--   answer is stored before its settlement, and counts only if the line is final with the same attempt. The rows are
--   separate from the lines, so that a change of a line does not copy them.
-- - Lines and contents are deleted once the files of the batch are stored. The counts of the lines remain.
-- - Requests of batches are text requests or tasks with a `batch_id`.
-- - A line of a media endpoint gets its task in the transaction that creates the task (`create_tasks`), and only one.
--   Its answer is stored with its final status. A further attempt is the retry of an operator.

CREATE TABLE batches (
  id text COLLATE "C" PRIMARY KEY CHECK (length(id) = 38 AND id ~ '^batch_[0-9a-z]+$'),
  account_id text COLLATE "C" NOT NULL REFERENCES accounts,
  api_key_id text COLLATE "C" NOT NULL REFERENCES api_keys,
  -- Of the call that created it.
  request_id text NOT NULL,
  endpoint text NOT NULL CHECK (endpoint IN ('/v1/chat/completions', '/v1/responses', '/v1/messages', '/v1/embeddings',
    '/v1/videos/tasks', '/v1/images/tasks')),
  status text NOT NULL DEFAULT 'validating' CHECK (status IN ('validating', 'failed', 'in_progress', 'finalizing',
    'completed', 'expired', 'cancelling', 'cancelled')),
  input_file_id text COLLATE "C" NOT NULL,
  -- The answers, and the lines without an answer; null for a file without lines.
  output_file_id text COLLATE "C",
  error_file_id text COLLATE "C",
  metadata jsonb,
  -- The header anthropic-beta of the call that created it; null for none.
  betas text,
  -- Why the input is refused.
  errors jsonb,
  -- The code of the refusal for which no line starts; null while lines run.
  paused_reason text,
  paused_at timestamptz(3),
  -- When an operator paused the batch; null while none does.
  operator_paused_at timestamptz(3),
  -- Of all lines, and of final lines. The counts of final lines are written with the final status.
  total integer NOT NULL DEFAULT 0 CHECK (total >= 0),
  succeeded integer NOT NULL DEFAULT 0 CHECK (succeeded >= 0),
  failed integer NOT NULL DEFAULT 0 CHECK (failed >= 0),
  expired integer NOT NULL DEFAULT 0 CHECK (expired >= 0),
  cancelled integer NOT NULL DEFAULT 0 CHECK (cancelled >= 0),
  -- The failed lines whose request was made, by the code of its error: [{"code": …, "count": …}]. Written with the final status.
  failures jsonb NOT NULL DEFAULT '[]',
  created_at timestamptz(3) NOT NULL,
  -- When lines stop to start.
  expires_at timestamptz(3) NOT NULL,
  in_progress_at timestamptz(3),
  finalizing_at timestamptz(3),
  cancelling_at timestamptz(3),
  ended_at timestamptz(3),
  -- When a client deleted the batch; usage still refers to it.
  deleted_at timestamptz(3),
  -- When the relay starts the workflow again, which has no effect while the workflow runs.
  next_start_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT batches_end_with_a_time CHECK ((status IN ('failed', 'completed', 'expired', 'cancelled')) = (ended_at IS NOT NULL)),
  CONSTRAINT batches_failed_with_errors CHECK ((status = 'failed') = (errors IS NOT NULL)),
  CONSTRAINT batches_paused_with_a_time CHECK ((paused_reason IS NULL) = (paused_at IS NULL))
);
CREATE INDEX batches_by_account ON batches (account_id, id);
CREATE INDEX batches_running ON batches (account_id) WHERE ended_at IS NULL;
CREATE INDEX batches_to_start ON batches (next_start_at) WHERE ended_at IS NULL;

CREATE FUNCTION check_batch_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.ended_at IS NOT NULL AND (NEW.status, NEW.ended_at, NEW.total, NEW.succeeded, NEW.failed, NEW.expired, NEW.cancelled, NEW.failures)
    IS DISTINCT FROM (OLD.status, OLD.ended_at, OLD.total, OLD.succeeded, OLD.failed, OLD.expired, OLD.cancelled, OLD.failures) THEN
    RAISE EXCEPTION 'the outcome of a final batch does not change'
      USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = TG_NAME;
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER batches_change_lawfully BEFORE UPDATE ON batches FOR EACH ROW EXECUTE FUNCTION check_batch_change();

-- Jobs at the batch APIs of vendors: each has lines of one model. A job is recorded before it is sent, and sent at most once.
-- `id` marks the job at the vendor. It is also the process of the job's allowance, which no process releases while the job is open.
-- A job is sent after `sent_at`, and exists at the vendor once it has a `vendor_id`; in between its outcome is unknown.
CREATE TABLE batch_jobs (
  id uuid PRIMARY KEY,
  batch_id text COLLATE "C" NOT NULL REFERENCES batches,
  model text NOT NULL,
  upstream text NOT NULL,
  upstream_format text NOT NULL,
  upstream_model text NOT NULL,
  -- Of the upstream's key, by a hash.
  key_digest text NOT NULL,
  remainder text NOT NULL CHECK (remainder IN ('direct', 'fail')),
  cost_factor numeric NOT NULL CHECK (cost_factor > 0),
  -- By which the lines are charged; null before their money is held.
  catalogue_version text,
  price_list text COLLATE "C",
  pricing jsonb,
  -- When its lines started.
  created_at timestamptz(3) NOT NULL,
  sent_at timestamptz(3),
  vendor_id text,
  -- When the vendor was asked to cancel the job.
  cancelled_at timestamptz(3),
  -- How often in a row the job, or its answers, could not be found.
  misses integer NOT NULL DEFAULT 0 CHECK (misses >= 0),
  next_poll_at timestamptz NOT NULL DEFAULT now(),
  ended_at timestamptz(3),
  outcome text CHECK (outcome IN ('collected', 'refused', 'not_taken', 'lost')),
  CONSTRAINT batch_jobs_end_with_an_outcome CHECK ((outcome IS NULL) = (ended_at IS NULL)),
  CONSTRAINT batch_jobs_are_sent_before_they_exist CHECK (vendor_id IS NULL OR sent_at IS NOT NULL),
  CONSTRAINT batch_jobs_have_one_vendor_job UNIQUE (upstream, vendor_id)
);
CREATE INDEX batch_jobs_open ON batch_jobs (batch_id) WHERE ended_at IS NULL;

CREATE TABLE batch_lines (
  batch_id text COLLATE "C" NOT NULL REFERENCES batches,
  -- The number of the line in the input, from 1.
  number integer NOT NULL CHECK (number BETWEEN 1 AND 99999),
  custom_id text NOT NULL,
  status text NOT NULL DEFAULT 'waiting' CHECK (status IN ('waiting', 'succeeded', 'failed', 'expired', 'cancelled')),
  -- How often the line was started.
  attempt smallint NOT NULL DEFAULT 0 CHECK (attempt BETWEEN 0 AND 999),
  -- The HTTP status of the answer, and the id of its request; null for a line that has no answer.
  response_status smallint,
  request_id text,
  -- The requested model; null for a text that is no model's name.
  model text,
  -- The open job of a vendor that has the line, and the money that the job holds for the line.
  job_id uuid REFERENCES batch_jobs,
  hold jsonb,
  -- Whether the line runs as a direct request although its model has a route with batches.
  runs_directly boolean NOT NULL DEFAULT false,
  -- The task that the line created.
  task_id text COLLATE "C",
  PRIMARY KEY (batch_id, number)
) WITH (fillfactor = 70);

CREATE TABLE batch_contents (
  -- The batch, the number of the line with five digits, and the attempt with three: `batch_…/00017/001`.
  id text COLLATE "C" PRIMARY KEY CHECK (id ~ '^batch_[0-9a-z]{32}/[0-9]{5}/[0-9]{3}$'),
  encrypted_content bytea NOT NULL
);
-- Encrypted content does not compress further.
ALTER TABLE batch_contents ALTER COLUMN encrypted_content SET STORAGE EXTERNAL;
