-- Prices and costs, sums of usage, closed months, corrections and reconciliation.
--
-- - `rate_cards` has the prices of each version of the catalogue, so that every charge can be computed again.
--   `text_costs` has the operator's costs of text at each upstream, in pico-USD per token. With the tokens of a
--   request, they give the cost of the request. `tiers` and `peaks` multiply a cost like a price.
-- - `daily_usage` has the usage of each account by day, model and key, and `daily_transfers` the sums of its transfers
--   by day and kind, so that reports do not sum every request of a month or every transfer of an account. Both sum the
--   rows before `daily_usage_summed.before`, which is about an hour ago (`db/usage-sums.ts`); readers add later rows.
--   The sums of a month stay when the month is detached.
-- - A request that is recorded or changes more than an hour after its start might miss its sum, so its transaction
--   marks the day of its account in `late_usage`. Marked days are read from the rows until they are summed again. Other
--   requests cost only the evaluation of a condition, so text stays fast. A transfer that is dated more than an hour
--   earlier is added to its sum by its own transaction, under the lock of the program that sums.
-- - No transfer is dated in a closed month or before it: a correction is a new row in the open month. `closed_months`
--   has the number of transfers, the sum of each kind, the findings that were acknowledged, and a checksum of every
--   row, with which reconciliation finds rows that were changed in spite of the rules.
-- - A correction is under dual control: one person requests it, another approves it. A request never changes, is
--   decided at most once, and expires. An approved correction names its transfer, written in the same transaction.
--   `amount` is the amount given to the account; negative if taken. A correction with a `reference` is a manually
--   credited payment, and becomes a top-up.
-- - A merge moves the money of the account `source_id` to the account `target_id`, like a correction once a second person
--   has approved it, if it `requires_second_approval`. The approval suspends the source for ever. `completed_at` is when
--   nothing of the source was on hold any more. Money that reaches the source later is moved, too.
-- - `unapproved_adjustments` has the manual adjustments without a second approval. They are summed per account and day, so that
--   nobody can split a large amount into small ones. `id` is the transfer, or the grant of promo credit.
-- - `gift_batches` are issues of gift codes, and `gift_codes` their codes, by digest alone. The codes of a batch work from
--   its creation, or from its approval by a second person, until the batch expires or is withdrawn. A redemption locks
--   the account, then the code, then the batch in share mode, so that a withdrawal holds from its commit on. It credits
--   the account by a `gift` of funds, or a grant of promo credit, whose reference is the code.
-- - A row of `reconciliations` without an end is in progress, or its worker died; then the report is made again.
-- - An acknowledgement is the reason why a finding of reconciliation stays. It is about the text of the finding, and so
--   applies to later reports with the same finding. If it `requires_second_approval`, a second person confirms it. It
--   is decided once.
-- - `billing_documents` has the receipts, credit notes and invoices of accounts, one per `source`: a transfer, or a
--   month and an account. A document and its number are written in one transaction, which locks the row of the series
--   in `billing_numbers`, so a series has no gaps. A document names the seller, the latest row of `sellers`. Without a
--   seller, there are no documents. `invoiced_months` are the closed months with complete invoices.
-- - `vendor_bills` has the monthly bills of vendors, whose lines reconciliation compares with the costs of submissions
--   and text requests. Lines with sums name no job.
-- - A subscription is one at the payment provider, as it was last read there: `price` is what it pays next, and `ends_at`
--   when it ends; null while it renews. A paid invoice makes a period of a plan: a row of `plan_periods`, with the terms of
--   the plan at that time, and a grant of the included credit, in the same transaction. Periods never change, so that the
--   order in which the provider announces invoices does not matter. The terms of the latest invoice apply until
--   `limits_until`, which is later than the period by the grace for a failed payment, unless the subscription ends before.

CREATE TABLE rate_cards (
  version text NOT NULL,
  model text NOT NULL,
  -- The family of a text model: price lists may have prices for a family.
  family text,
  pricing jsonb NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  kind text NOT NULL CHECK (kind IN ('text', 'video', 'image')),
  PRIMARY KEY (version, model)
);
CREATE TRIGGER rate_cards_are_kept BEFORE UPDATE OR DELETE ON rate_cards FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER rate_cards_not_truncated BEFORE TRUNCATE ON rate_cards FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TABLE text_costs (
  version text NOT NULL,
  model text NOT NULL,
  upstream text NOT NULL,
  upstream_model text NOT NULL,
  input pico_usd NOT NULL,
  cached_input pico_usd NOT NULL,
  cache_write pico_usd NOT NULL,
  cache_write_1h pico_usd NOT NULL,
  output pico_usd NOT NULL,
  audio_input pico_usd NOT NULL,
  cached_audio_input pico_usd NOT NULL,
  audio_output pico_usd NOT NULL,
  "character" pico_usd NOT NULL,
  audio_second pico_usd NOT NULL,
  web_search pico_usd NOT NULL,
  search_unit pico_usd NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  tiers jsonb NOT NULL DEFAULT '[]',
  peaks jsonb NOT NULL DEFAULT '[]',
  PRIMARY KEY (version, model, upstream, upstream_model)
);
CREATE TRIGGER text_costs_are_kept BEFORE UPDATE OR DELETE ON text_costs FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER text_costs_not_truncated BEFORE TRUNCATE ON text_costs FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TABLE daily_usage (
  account_id text COLLATE "C" NOT NULL,
  day date NOT NULL,
  kind text NOT NULL,
  model text NOT NULL,
  api_key_id text COLLATE "C" NOT NULL,
  requests bigint NOT NULL,
  failed bigint NOT NULL,
  input_tokens bigint NOT NULL DEFAULT 0,
  cache_read_tokens bigint NOT NULL DEFAULT 0,
  cache_write_tokens bigint NOT NULL DEFAULT 0,
  cache_write_1h_tokens bigint NOT NULL DEFAULT 0,
  output_tokens bigint NOT NULL DEFAULT 0,
  audio_input_tokens bigint NOT NULL DEFAULT 0,
  audio_cache_read_tokens bigint NOT NULL DEFAULT 0,
  audio_output_tokens bigint NOT NULL DEFAULT 0,
  characters bigint NOT NULL DEFAULT 0,
  audio_seconds bigint NOT NULL DEFAULT 0,
  web_searches bigint NOT NULL DEFAULT 0,
  search_units bigint NOT NULL DEFAULT 0,
  billable_seconds bigint NOT NULL,
  charged pico_usd NOT NULL,
  PRIMARY KEY (account_id, day, kind, model, api_key_id)
) WITH (fillfactor = 70);
CREATE INDEX daily_usage_by_model ON daily_usage (kind, model, day);

CREATE TABLE daily_usage_summed (
  is_only_row boolean PRIMARY KEY DEFAULT true CHECK (is_only_row),
  before timestamptz(3) NOT NULL
);
INSERT INTO daily_usage_summed (before) VALUES (date_trunc('day', now(), 'UTC'));

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

CREATE FUNCTION sum_late_transfer() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  summed_before timestamptz;
BEGIN
  SELECT before INTO STRICT summed_before FROM daily_usage_summed FOR SHARE;
  IF NEW.created_at < summed_before THEN
    INSERT INTO daily_transfers AS summed
    SELECT NEW.account_id, (NEW.created_at AT TIME ZONE 'UTC')::date, NEW.kind, 1,
      NEW.amount * ((NEW.credit = 'available')::int - (NEW.debit = 'available')::int),
      NEW.amount * ((NEW.credit = 'reserved')::int - (NEW.debit = 'reserved')::int)
    ON CONFLICT (account_id, day, kind) DO UPDATE SET transfers = summed.transfers + 1,
      available = summed.available + EXCLUDED.available, reserved = summed.reserved + EXCLUDED.reserved;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER transfers_dated_late AFTER INSERT ON transfers FOR EACH ROW
  WHEN (NEW.created_at < clock_timestamp() - interval '1 hour') EXECUTE FUNCTION sum_late_transfer();

CREATE TABLE closed_months (
  month date PRIMARY KEY CHECK (month = date_trunc('month', month)::date),
  closed_at timestamptz NOT NULL DEFAULT now(),
  author text NOT NULL CHECK (author <> ''),
  transfers bigint NOT NULL,
  amounts jsonb NOT NULL,
  checksum numeric NOT NULL,
  acknowledged jsonb NOT NULL DEFAULT '[]'
);
CREATE TRIGGER closed_months_are_kept BEFORE UPDATE OR DELETE ON closed_months FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER closed_months_not_truncated BEFORE TRUNCATE ON closed_months FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- The current sums of a month. The checksum does not depend on the order of rows, so no month has to be sorted.
CREATE FUNCTION ledger_of_month(month date, OUT transfers bigint, OUT amounts jsonb, OUT checksum numeric)
LANGUAGE sql STABLE AS $$
  WITH row AS (
    SELECT kind, CASE WHEN kind = 'adjustment' AND debit = 'available' THEN -amount ELSE amount END AS amount,
      hashtextextended(concat_ws('|', id, kind, debit, credit, amount, signup_amount,
      coalesce(pending_id, '-'), account_id, coalesce(api_key_id, '-'), coalesce(task_id, '-'),
      coalesce(text_request_id, '-'), coalesce(allowance_id, '-'), coalesce(reference, '-'), extract(epoch FROM created_at)), 0) AS hash
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

CREATE TABLE sellers (
  version integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  -- Null: nobody from now on.
  details jsonb,
  since timestamptz NOT NULL DEFAULT now()
);
CREATE TRIGGER sellers_are_kept BEFORE UPDATE OR DELETE ON sellers FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER sellers_not_truncated BEFORE TRUNCATE ON sellers FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TABLE billing_numbers (
  kind text NOT NULL CHECK (kind IN ('receipt', 'credit_note', 'invoice')),
  year integer NOT NULL,
  last_number integer NOT NULL CHECK (last_number > 0),
  PRIMARY KEY (kind, year)
);
CREATE TRIGGER billing_numbers_are_kept BEFORE DELETE ON billing_numbers FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER billing_numbers_not_truncated BEFORE TRUNCATE ON billing_numbers FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TABLE billing_documents (
  id text COLLATE "C" PRIMARY KEY CHECK (length(id) = 36 AND id ~ '^doc_[0-9a-z]+$'),
  account_id text COLLATE "C" NOT NULL REFERENCES accounts,
  kind text NOT NULL CHECK (kind IN ('receipt', 'credit_note', 'invoice')),
  number text COLLATE "C" NOT NULL UNIQUE,
  source text COLLATE "C" NOT NULL UNIQUE,
  issued_at timestamptz(3) NOT NULL DEFAULT now(),
  -- The month of an invoice, such as 2026-10.
  month text,
  -- The reference of the payment.
  reference text,
  content jsonb NOT NULL,
  CONSTRAINT billing_documents_are_about_a_month_or_a_payment
    CHECK ((month IS NOT NULL) = (kind = 'invoice') AND (reference IS NULL) = (kind = 'invoice'))
);
CREATE INDEX billing_documents_by_account ON billing_documents (account_id, id);
CREATE INDEX billing_documents_by_parts ON billing_documents USING gin (number gin_trgm_ops);
CREATE TRIGGER billing_documents_are_kept BEFORE UPDATE OR DELETE ON billing_documents FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER billing_documents_not_truncated BEFORE TRUNCATE ON billing_documents FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TABLE invoiced_months (
  month date PRIMARY KEY REFERENCES closed_months
);
CREATE TRIGGER invoiced_months_are_kept BEFORE UPDATE OR DELETE ON invoiced_months FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER invoiced_months_not_truncated BEFORE TRUNCATE ON invoiced_months FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TABLE corrections (
  id text COLLATE "C" PRIMARY KEY CHECK (length(id) = 36 AND id ~ '^cor_[0-9a-z]+$'),
  account_id text COLLATE "C" NOT NULL REFERENCES accounts,
  amount numeric(38,0) NOT NULL CHECK (amount <> 0),
  reference text,
  reason text NOT NULL CHECK (reason <> ''),
  author text NOT NULL CHECK (author <> ''),
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  outcome text CHECK (outcome IN ('approved', 'rejected', 'withdrawn')),
  decided_by text,
  decided_at timestamptz,
  transfer_id text COLLATE "C",
  CONSTRAINT corrections_of_payments_add CHECK (reference IS NULL OR amount > 0),
  CONSTRAINT corrections_are_decided_by_somebody CHECK (num_nulls(outcome, decided_by, decided_at) IN (0, 3)),
  -- Only the author withdraws, and only others approve or reject.
  CONSTRAINT corrections_take_two CHECK ((outcome = 'withdrawn') = (decided_by = author)),
  CONSTRAINT corrections_are_booked_if_approved
    CHECK (coalesce(outcome = 'approved', false) = (transfer_id IS NOT NULL))
);
CREATE INDEX corrections_pending ON corrections (id) WHERE outcome IS NULL;
CREATE TRIGGER corrections_are_decided_once BEFORE UPDATE ON corrections FOR EACH ROW
  WHEN (OLD.outcome IS NOT NULL
    OR (OLD.id, OLD.account_id, OLD.amount, OLD.reference, OLD.reason, OLD.author, OLD.created_at, OLD.expires_at)
      IS DISTINCT FROM
        (NEW.id, NEW.account_id, NEW.amount, NEW.reference, NEW.reason, NEW.author, NEW.created_at, NEW.expires_at))
  EXECUTE FUNCTION refuse_change();
CREATE TRIGGER corrections_are_kept BEFORE DELETE ON corrections FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER corrections_not_truncated BEFORE TRUNCATE ON corrections FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TABLE account_merges (
  id text COLLATE "C" PRIMARY KEY CHECK (length(id) = 36 AND id ~ '^mrg_[0-9a-z]+$'),
  source_id text COLLATE "C" NOT NULL REFERENCES accounts,
  target_id text COLLATE "C" NOT NULL REFERENCES accounts,
  reason text NOT NULL CHECK (reason <> ''),
  author text NOT NULL CHECK (author <> ''),
  requires_second_approval boolean NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  outcome text CHECK (outcome IN ('approved', 'rejected', 'withdrawn')),
  decided_by text,
  decided_at timestamptz,
  completed_at timestamptz,
  CONSTRAINT account_merges_join_two CHECK (source_id <> target_id),
  CONSTRAINT account_merges_are_decided_by_somebody CHECK (num_nulls(outcome, decided_by, decided_at) IN (0, 3)),
  -- A merge by one person is approved by its author; otherwise the author may only withdraw it.
  CONSTRAINT account_merges_take_two CHECK (CASE
    WHEN requires_second_approval THEN (outcome = 'withdrawn') = (decided_by = author)
    ELSE coalesce(outcome = 'approved' AND decided_by = author, false) END),
  CONSTRAINT account_merges_complete_if_approved CHECK (completed_at IS NULL OR coalesce(outcome = 'approved', false))
);
CREATE UNIQUE INDEX account_merges_once ON account_merges (source_id) WHERE outcome = 'approved';
CREATE INDEX account_merges_by_source ON account_merges (source_id, id);
CREATE INDEX account_merges_by_target ON account_merges (target_id, id);
CREATE INDEX account_merges_pending ON account_merges (id) WHERE outcome IS NULL;
CREATE TRIGGER account_merges_are_decided_once BEFORE UPDATE ON account_merges FOR EACH ROW
  WHEN (OLD.completed_at IS NOT NULL
    OR (OLD.outcome IS NOT NULL
      AND (OLD.outcome, OLD.decided_by, OLD.decided_at) IS DISTINCT FROM (NEW.outcome, NEW.decided_by, NEW.decided_at))
    OR (OLD.id, OLD.source_id, OLD.target_id, OLD.reason, OLD.author, OLD.requires_second_approval, OLD.created_at,
        OLD.expires_at)
      IS DISTINCT FROM
        (NEW.id, NEW.source_id, NEW.target_id, NEW.reason, NEW.author, NEW.requires_second_approval, NEW.created_at,
          NEW.expires_at))
  EXECUTE FUNCTION refuse_change();
CREATE TRIGGER account_merges_are_kept BEFORE DELETE ON account_merges FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER account_merges_not_truncated BEFORE TRUNCATE ON account_merges FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TABLE unapproved_adjustments (
  id text COLLATE "C" PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL REFERENCES accounts,
  amount pico_usd NOT NULL CHECK (amount > 0),
  author text NOT NULL CHECK (author <> ''),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX unapproved_adjustments_lately ON unapproved_adjustments (account_id, created_at);
CREATE TRIGGER unapproved_adjustments_are_kept BEFORE UPDATE OR DELETE ON unapproved_adjustments FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER unapproved_adjustments_not_truncated BEFORE TRUNCATE ON unapproved_adjustments FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TABLE gift_batches (
  id text COLLATE "C" PRIMARY KEY CHECK (length(id) = 36 AND id ~ '^gib_[0-9a-z]+$'),
  label text NOT NULL CHECK (label <> ''),
  kind text NOT NULL CHECK (kind IN ('funds', 'promo_credit')),
  -- Of each code.
  amount pico_usd NOT NULL CHECK (amount > 0),
  codes integer NOT NULL CHECK (codes BETWEEN 1 AND 1000),
  -- How long promo credit lasts, from its redemption.
  credit_days integer CHECK (credit_days > 0),
  -- Who may redeem only one code of the batch; null if nobody is limited.
  once_per text CHECK (once_per IN ('account', 'person')),
  expires_at timestamptz(3) NOT NULL,
  author text NOT NULL CHECK (author <> ''),
  requires_second_approval boolean NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  approved_by text,
  approved_at timestamptz(3),
  withdrawn_by text,
  withdrawn_at timestamptz(3),
  withdrawal_reason text CHECK (withdrawal_reason <> ''),
  CONSTRAINT gift_batches_promo_credit_lasts CHECK ((kind = 'promo_credit') = (credit_days IS NOT NULL)),
  CONSTRAINT gift_batches_last CHECK (expires_at > created_at),
  CONSTRAINT gift_batches_take_two CHECK (approved_by IS NULL OR (requires_second_approval AND approved_by <> author)),
  CONSTRAINT gift_batches_are_approved_at_a_time CHECK (num_nulls(approved_by, approved_at) IN (0, 2)),
  CONSTRAINT gift_batches_are_withdrawn_by_somebody
    CHECK (num_nulls(withdrawn_by, withdrawn_at, withdrawal_reason) IN (0, 3))
);
CREATE TRIGGER gift_batches_keep_their_terms BEFORE UPDATE ON gift_batches FOR EACH ROW
  WHEN ((OLD.id, OLD.label, OLD.kind, OLD.amount, OLD.codes, OLD.credit_days, OLD.once_per, OLD.expires_at, OLD.author,
      OLD.requires_second_approval, OLD.created_at)
    IS DISTINCT FROM (NEW.id, NEW.label, NEW.kind, NEW.amount, NEW.codes, NEW.credit_days, NEW.once_per, NEW.expires_at,
      NEW.author, NEW.requires_second_approval, NEW.created_at)
    OR (OLD.approved_at IS NOT NULL AND (OLD.approved_by, OLD.approved_at) IS DISTINCT FROM (NEW.approved_by, NEW.approved_at))
    OR (OLD.withdrawn_at IS NOT NULL AND (OLD.withdrawn_by, OLD.withdrawn_at, OLD.withdrawal_reason)
      IS DISTINCT FROM (NEW.withdrawn_by, NEW.withdrawn_at, NEW.withdrawal_reason)))
  EXECUTE FUNCTION refuse_change();
CREATE TRIGGER gift_batches_are_kept BEFORE DELETE ON gift_batches FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER gift_batches_not_truncated BEFORE TRUNCATE ON gift_batches FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TABLE gift_codes (
  id text COLLATE "C" PRIMARY KEY CHECK (length(id) = 37 AND id ~ '^gift_[0-9a-z]+$'),
  batch_id text COLLATE "C" NOT NULL REFERENCES gift_batches,
  digest bytea NOT NULL UNIQUE CHECK (length(digest) = 32),
  account_id text COLLATE "C" REFERENCES accounts,
  redeemed_at timestamptz(3),
  -- The transfer of funds, or the grant of promo credit.
  credit_id text COLLATE "C" UNIQUE,
  -- The account, or the digest of the normal address of the person, that may redeem only one code of the batch.
  counted_for text COLLATE "C",
  CONSTRAINT gift_codes_are_redeemed_by_an_account CHECK (num_nulls(account_id, redeemed_at, credit_id) IN (0, 3)),
  CONSTRAINT gift_codes_count_once_redeemed CHECK (counted_for IS NULL OR account_id IS NOT NULL),
  CONSTRAINT gift_codes_once UNIQUE (batch_id, counted_for)
);
CREATE INDEX gift_codes_redeemed ON gift_codes (batch_id, id) WHERE redeemed_at IS NOT NULL;
CREATE INDEX gift_codes_of_account ON gift_codes (account_id) WHERE account_id IS NOT NULL;
CREATE TRIGGER gift_codes_are_redeemed_once BEFORE UPDATE ON gift_codes FOR EACH ROW
  WHEN (OLD.redeemed_at IS NOT NULL OR (OLD.id, OLD.batch_id, OLD.digest) IS DISTINCT FROM (NEW.id, NEW.batch_id, NEW.digest))
  EXECUTE FUNCTION refuse_change();
CREATE TRIGGER gift_codes_are_kept BEFORE DELETE ON gift_codes FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER gift_codes_not_truncated BEFORE TRUNCATE ON gift_codes FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Not a foreign key, because a code stays when the month of its transfer is detached.
CREATE FUNCTION check_gift() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  batch gift_batches;
BEGIN
  SELECT * INTO batch FROM gift_batches WHERE id = NEW.batch_id;
  IF batch.kind = 'funds' THEN
    PERFORM 1 FROM transfers WHERE id = NEW.credit_id AND opened_at = NEW.redeemed_at AND kind = 'gift'
      AND account_id = NEW.account_id AND amount = batch.amount AND reference = NEW.id;
  ELSE
    PERFORM 1 FROM promo_grants
    WHERE id = NEW.credit_id AND account_id = NEW.account_id AND amount = batch.amount AND reference = NEW.id;
  END IF;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'the gift code % has no credit', NEW.id
      USING ERRCODE = 'foreign_key_violation', CONSTRAINT = TG_NAME;
  END IF;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER gift_codes_are_credited AFTER INSERT OR UPDATE ON gift_codes
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.redeemed_at IS NOT NULL) EXECUTE FUNCTION check_gift();

CREATE TABLE reconciliations (
  id text COLLATE "C" PRIMARY KEY CHECK (length(id) = 36 AND id ~ '^rec_[0-9a-z]+$'),
  requested_by text NOT NULL CHECK (requested_by IN ('schedule', 'operator')),
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  finished_at timestamptz(3),
  checks jsonb,
  findings jsonb,
  CONSTRAINT reconciliations_end_with_a_report CHECK (num_nulls(finished_at, checks, findings) IN (0, 3))
);

CREATE TABLE acknowledgements (
  id text COLLATE "C" PRIMARY KEY CHECK (length(id) = 36 AND id ~ '^ack_[0-9a-z]+$'),
  reconciliation_id text COLLATE "C" NOT NULL,
  check_name text NOT NULL,
  subject text NOT NULL,
  detail text NOT NULL,
  reason text NOT NULL CHECK (reason <> ''),
  author text NOT NULL CHECK (author <> ''),
  requires_second_approval boolean NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  outcome text CHECK (outcome IN ('confirmed', 'rejected', 'withdrawn')),
  decided_by text,
  decided_at timestamptz(3),
  CONSTRAINT acknowledgements_are_decided_by_somebody CHECK (num_nulls(outcome, decided_by, decided_at) IN (0, 3)),
  -- An acknowledgement by one person is confirmed by its author; otherwise the author may only withdraw it.
  CONSTRAINT acknowledgements_take_two CHECK (CASE
    WHEN requires_second_approval THEN (outcome = 'withdrawn') = (decided_by = author)
    ELSE coalesce(outcome = 'confirmed' AND decided_by = author, false) END)
);
CREATE UNIQUE INDEX acknowledgements_once ON acknowledgements (check_name, md5(subject), md5(detail))
  WHERE outcome IS NULL OR outcome = 'confirmed';
CREATE TRIGGER acknowledgements_are_decided_once BEFORE UPDATE ON acknowledgements FOR EACH ROW
  WHEN (OLD.outcome IS NOT NULL OR (OLD.id, OLD.reconciliation_id, OLD.check_name, OLD.subject, OLD.detail, OLD.reason,
      OLD.author, OLD.requires_second_approval, OLD.created_at)
    IS DISTINCT FROM (NEW.id, NEW.reconciliation_id, NEW.check_name, NEW.subject, NEW.detail, NEW.reason,
      NEW.author, NEW.requires_second_approval, NEW.created_at))
  EXECUTE FUNCTION refuse_change();
CREATE TRIGGER acknowledgements_are_kept BEFORE DELETE ON acknowledgements FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER acknowledgements_not_truncated BEFORE TRUNCATE ON acknowledgements FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TABLE vendor_bills (
  vendor text COLLATE "C" NOT NULL CHECK (vendor <> ''),
  month date NOT NULL CHECK (month = date_trunc('month', month)::date),
  upstreams text[] NOT NULL CHECK (upstreams <> '{}'),
  columns jsonb NOT NULL,
  -- The value of one unit of its currency; null for US dollars.
  usd_per_unit pico_usd,
  imported_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  author text NOT NULL CHECK (author <> ''),
  lines bigint NOT NULL DEFAULT 0,
  amount numeric(38,0) NOT NULL DEFAULT 0,
  PRIMARY KEY (vendor, month)
);

CREATE TABLE vendor_bill_lines (
  vendor text COLLATE "C" NOT NULL,
  month date NOT NULL,
  line integer NOT NULL CHECK (line > 0),
  job_id text,
  model text,
  amount numeric(38,0) NOT NULL,
  PRIMARY KEY (vendor, month, line),
  FOREIGN KEY (vendor, month) REFERENCES vendor_bills ON DELETE CASCADE,
  CONSTRAINT vendor_bill_lines_are_about_something CHECK (job_id IS NOT NULL OR model IS NOT NULL)
);
CREATE INDEX vendor_bill_lines_by_job ON vendor_bill_lines (vendor, job_id) WHERE job_id IS NOT NULL;

CREATE SEQUENCE subscription_readings;
CREATE TABLE subscriptions (
  id text COLLATE "C" PRIMARY KEY CHECK (length(id) BETWEEN 1 AND 200),
  account_id text COLLATE "C" NOT NULL REFERENCES accounts,
  customer text NOT NULL CHECK (length(customer) BETWEEN 1 AND 200),
  status text NOT NULL CHECK (length(status) BETWEEN 1 AND 100),
  item text NOT NULL CHECK (length(item) BETWEEN 1 AND 200),
  price text NOT NULL CHECK (length(price) BETWEEN 1 AND 200),
  ends_at timestamptz(3),
  -- The number of the reading at the provider; a later reading has a higher number.
  reading bigint NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX subscriptions_by_account ON subscriptions (account_id, created_at);
CREATE TRIGGER subscriptions_keep_identity BEFORE UPDATE OF id, account_id, created_at ON subscriptions FOR EACH ROW
  WHEN ((OLD.id, OLD.account_id, OLD.created_at) IS DISTINCT FROM (NEW.id, NEW.account_id, NEW.created_at))
  EXECUTE FUNCTION refuse_change();
CREATE TRIGGER subscriptions_are_kept BEFORE DELETE ON subscriptions FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER subscriptions_not_truncated BEFORE TRUNCATE ON subscriptions FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- The latest page on which an account can subscribe. The next page expires this one first.
CREATE TABLE subscription_pages (
  account_id text COLLATE "C" PRIMARY KEY REFERENCES accounts,
  page text NOT NULL CHECK (length(page) BETWEEN 1 AND 200)
);

CREATE TABLE plan_periods (
  invoice_id text COLLATE "C" PRIMARY KEY CHECK (length(invoice_id) BETWEEN 1 AND 200),
  subscription_id text COLLATE "C" NOT NULL REFERENCES subscriptions,
  account_id text COLLATE "C" NOT NULL REFERENCES accounts,
  plan text NOT NULL CHECK (length(plan) BETWEEN 1 AND 63),
  included pico_usd NOT NULL,
  models text[],
  rate_limit_rpm integer CHECK (rate_limit_rpm > 0),
  seats integer CHECK (seats > 0),
  invoiced_at timestamptz(3) NOT NULL,
  starts_at timestamptz(3) NOT NULL,
  ends_at timestamptz(3) NOT NULL,
  limits_until timestamptz(3) NOT NULL,
  -- Null if nothing is included, or the period was over when its invoice was announced.
  grant_id text COLLATE "C" UNIQUE REFERENCES promo_grants,
  -- What the invoice's payments paid, with taxes, and their references in `returned_payments`; empty if nothing was charged.
  paid pico_usd NOT NULL,
  payments text[] NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT plan_periods_last CHECK (starts_at < ends_at AND ends_at <= limits_until)
);
CREATE INDEX plan_periods_by_account ON plan_periods (account_id, invoiced_at, invoice_id);
CREATE INDEX plan_periods_by_payment ON plan_periods USING gin (payments);
CREATE TRIGGER plan_periods_are_kept BEFORE UPDATE OR DELETE ON plan_periods FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER plan_periods_not_truncated BEFORE TRUNCATE ON plan_periods FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
