-- Webhook endpoints, events, one delivery for each event and endpoint, and every attempt of a delivery.
--
-- The rows of an event are written in the transaction of the change that causes the event, so both are committed or
-- neither. From `next_start_at` on, the relay starts the workflow of a delivery, unless its start is confirmed.

CREATE TABLE webhook_endpoints (
  id text COLLATE "C" PRIMARY KEY CHECK (length(id) = 35 AND id ~ '^we_[0-9a-z]+$'),
  account_id text COLLATE "C" NOT NULL REFERENCES accounts,
  url text NOT NULL CHECK (length(url) <= 2048),
  description text CHECK (length(description) <= 1000),
  events text[] NOT NULL CHECK (cardinality(events) > 0
    AND events <@ ARRAY['task.succeeded', 'task.failed', 'task.late_result', 'account.balance_low',
      'batch.completed', 'batch.failed', 'batch.expired', 'batch.cancelled', 'batch.paused']),
  encrypted_secret bytea NOT NULL,
  previous_encrypted_secret bytea,
  previous_secret_until timestamptz,
  disabled_at timestamptz,
  disabled_reason text,
  failing_since timestamptz,
  timeouts integer NOT NULL DEFAULT 0,
  paused_until timestamptz,
  deleted_at timestamptz,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  CONSTRAINT webhook_endpoints_disabled_with_reason CHECK ((disabled_at IS NULL) = (disabled_reason IS NULL)),
  CONSTRAINT webhook_endpoints_previous_secret_ends CHECK (
    (previous_encrypted_secret IS NULL) = (previous_secret_until IS NULL))
);
CREATE INDEX webhook_endpoints_by_account ON webhook_endpoints (account_id, id) WHERE deleted_at IS NULL;

CREATE INDEX webhook_endpoints_by_parts ON webhook_endpoints USING gin (url gin_trgm_ops, id gin_trgm_ops);

CREATE TABLE events (
  id text COLLATE "C" PRIMARY KEY CHECK (length(id) = 36 AND id ~ '^evt_[0-9a-z]+$'),
  account_id text COLLATE "C" NOT NULL REFERENCES accounts,
  type text NOT NULL CHECK (type IN ('task.succeeded', 'task.failed', 'task.late_result', 'account.balance_low', 'endpoint.test',
    'batch.completed', 'batch.failed', 'batch.expired', 'batch.cancelled', 'batch.paused')),
  task_id text COLLATE "C",
  payload text NOT NULL,
  created_at timestamptz NOT NULL,
  CONSTRAINT events_of_tasks_name_them CHECK (
    (type LIKE 'task.%') = (task_id IS NOT NULL))
);
CREATE UNIQUE INDEX events_once_per_task ON events (task_id) WHERE task_id IS NOT NULL;
CREATE INDEX events_by_account ON events (account_id, id);

CREATE TABLE deliveries (
  id text COLLATE "C" PRIMARY KEY CHECK (length(id) = 36 AND id ~ '^del_[0-9a-z]+$'),
  event_id text COLLATE "C" NOT NULL REFERENCES events,
  endpoint_id text COLLATE "C" NOT NULL REFERENCES webhook_endpoints,
  account_id text COLLATE "C" NOT NULL REFERENCES accounts,
  task_id text COLLATE "C",
  status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'delivered', 'failed')),
  attempts integer NOT NULL DEFAULT 0,
  next_attempt_at timestamptz,
  completed_at timestamptz,
  schedule_from integer NOT NULL DEFAULT 1,
  under_way_until timestamptz,
  workflow_started_at timestamptz,
  next_start_at timestamptz NOT NULL DEFAULT now() + interval '5 seconds',
  created_at timestamptz NOT NULL,
  CONSTRAINT deliveries_end_with_a_time CHECK ((status = 'pending') = (completed_at IS NULL)),
  CONSTRAINT deliveries_once_per_endpoint UNIQUE (event_id, endpoint_id)
);
CREATE INDEX deliveries_by_account ON deliveries (account_id, id);
CREATE INDEX deliveries_by_endpoint ON deliveries (endpoint_id, id);
CREATE INDEX deliveries_by_task ON deliveries (task_id);
CREATE INDEX deliveries_without_task ON deliveries (account_id) WHERE task_id IS NULL;
CREATE INDEX deliveries_to_start ON deliveries (account_id, endpoint_id, next_start_at)
  WHERE workflow_started_at IS NULL AND status = 'pending';
CREATE INDEX deliveries_under_way ON deliveries (account_id, endpoint_id) WHERE under_way_until IS NOT NULL;
CREATE INDEX deliveries_awaited ON deliveries ((coalesce(next_attempt_at, workflow_started_at)))
  WHERE workflow_started_at IS NOT NULL AND status = 'pending';

CREATE TABLE delivery_attempts (
  delivery_id text COLLATE "C" NOT NULL REFERENCES deliveries,
  number integer NOT NULL CHECK (number > 0),
  started_at timestamptz NOT NULL,
  latency_ms integer NOT NULL CHECK (latency_ms >= 0),
  status integer,
  error text,
  answer text CHECK (length(answer) <= 4096),
  PRIMARY KEY (delivery_id, number),
  CONSTRAINT delivery_attempts_have_an_outcome CHECK (num_nonnulls(status, error) >= 1)
);
