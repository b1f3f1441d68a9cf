-- `write_text` is the statement with which a text process takes allowances, returns them, and charges completed
-- requests. Many requests cost one lock of each account, one insert of transfers with its checks and triggers, and one
-- commit. Every call also renews the lease of the process.
--
-- Every statement that moves money locks accounts first, ordered by id, and then the accounts' keys, which prevents
-- deadlocks. A writer locks its own process before its accounts. Times are taken under these locks, so that an
-- account's transfers are in chronological order.
--
-- Writes of a process are numbered, and a number is written once, so that a write with an unknown outcome can be
-- repeated. Settlements that may have been written under another number are looked for first.
--
-- A statement without settlements commits without waiting for the disk. If the database crashes at that moment, the
-- allowance is lost, and settlements find less money than they expect. Their charges then come from the available
-- balance.
--
-- write_text calls each of the other functions at most once, apart from recall_text_money. They run under its settings.

-- Counts requests of keys in this minute. Each of wanted has its place, the api_key_id, the key's request_limit, how many
-- requests are there, and how many more may come soon, of which it gets at most a sixteenth of what the minute has left.
CREATE OR REPLACE FUNCTION count_text_requests(wanted json)
RETURNS TABLE (place integer, before bigint, counted bigint) LANGUAGE plpgsql AS $$
DECLARE
  item record;
  this_minute timestamptz := date_trunc('minute', now());
BEGIN
  FOR item IN SELECT * FROM json_to_recordset(wanted)
    AS wanted(place integer, api_key_id text, request_limit integer, requests integer, extra_requests integer)
    ORDER BY api_key_id, place
  LOOP
    place := item.place;
    INSERT INTO request_windows AS counting (api_key_id, window_start, reads, requests)
    VALUES (item.api_key_id, this_minute, false, 0)
    ON CONFLICT ON CONSTRAINT request_windows_pkey DO UPDATE SET requests = counting.requests
    RETURNING counting.requests INTO before;
    counted := item.requests
      + least(item.extra_requests, greatest(0, (item.request_limit - before - item.requests) / 16));
    UPDATE request_windows AS counting SET requests = counting.requests + counted
    WHERE counting.api_key_id = item.api_key_id AND window_start = this_minute AND NOT reads;
    RETURN NEXT;
  END LOOP;
END $$;

-- Renews the lease of a process, which becomes known if it was not. Returns the number of its last write before this one;
-- null for a new process. Locks the process, and nothing else, until the transaction ends.
CREATE OR REPLACE FUNCTION renew_text_lease(writer uuid, write_number bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  previous_write bigint;
BEGIN
  SELECT last_write INTO previous_write FROM processes WHERE id = writer FOR NO KEY UPDATE;
  INSERT INTO processes AS known (id, last_write) VALUES (writer, write_number)
  ON CONFLICT (id) DO UPDATE SET last_write = greatest(known.last_write, write_number),
    heartbeat_at = clock_timestamp(),
    heard_since = CASE WHEN known.heartbeat_at < clock_timestamp() - interval '5 seconds' THEN clock_timestamp()
      ELSE known.heard_since END;
  RETURN previous_write;
END $$;

-- Gives the lines of batches that the items answer their final status. An answer to an earlier attempt of a line, or to
-- a line that is final, is neither recorded nor charged: returns the other items. The caller has locked their accounts.
CREATE OR REPLACE FUNCTION answer_batch_lines(INOUT items text_settlement[]) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  PERFORM FROM unnest(items) AS settled
    JOIN batch_lines AS line ON line.batch_id = settled.batch_id AND line.number = (settled.batch_line->>'number')::integer
    WHERE settled.batch_line IS NOT NULL
    ORDER BY line.batch_id, line.number FOR NO KEY UPDATE OF line;
  WITH answered AS (
    UPDATE batch_lines AS line SET status = settled.batch_line->>'status', request_id = settled.request_id,
      response_status = (settled.batch_line->>'responseStatus')::smallint
    FROM unnest(items) AS settled
    WHERE settled.batch_line IS NOT NULL AND line.batch_id = settled.batch_id
      AND line.number = (settled.batch_line->>'number')::integer
      AND line.attempt = (settled.batch_line->>'attempt')::smallint AND line.status = 'waiting'
    RETURNING settled.id)
  SELECT coalesce(array_agg(settled.item ORDER BY settled.place), '{}') INTO items
  FROM (SELECT items[place] AS item, place FROM generate_subscripts(items, 1) AS place) AS settled
  WHERE (settled.item).batch_line IS NULL OR (settled.item).id IN (SELECT id FROM answered);
END $$;

-- Charges completed requests, and records their usage and the attempts that failed before. The caller has locked their
-- accounts. Where the allowance has less than an item pays, because it was released or lost in between, the whole charge
-- counts as above the hold.
CREATE OR REPLACE FUNCTION settle_text(writer uuid, items text_settlement[], moment timestamptz) RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  has_slots boolean;
  has_failed boolean;
  overrun jsonb;
  overruns jsonb;
BEGIN
  WITH paying AS MATERIALIZED (
    SELECT allowance_id, sum(paid) AS paid, sum(paid_signup) AS paid_signup FROM unnest(items)
    WHERE paid > 0 GROUP BY allowance_id
  ), covered AS MATERIALIZED (
    UPDATE text_allowances AS allowance SET amount = allowance.amount - paying.paid,
      signup_amount = allowance.signup_amount - paying.paid_signup
    FROM paying
    WHERE allowance.id = paying.allowance_id AND allowance.process_id = writer
      AND allowance.signup_amount >= paying.paid_signup
      AND allowance.amount - allowance.signup_amount >= paying.paid - paying.paid_signup
    RETURNING allowance.id
  ), ended AS MATERIALIZED (
    SELECT settled.*, paid > 0 AND covered.id IS NOT NULL AS is_paid,
      CASE WHEN paid = 0 OR covered.id IS NOT NULL THEN held ELSE 0 END AS amount_held
    FROM unnest(items) AS settled LEFT JOIN covered ON covered.id = settled.allowance_id
  ), charged AS (
    INSERT INTO transfers (id, opened_at, created_at, kind, debit, credit, amount, signup_amount, account_id,
      api_key_id, text_request_id, allowance_id)
    SELECT charge_id, moment, moment, 'charge', 'reserved', 'revenue', paid, paid_signup, account_id, api_key_id, id,
      allowance_id
    FROM ended WHERE is_paid
  ), recorded AS (
    INSERT INTO text_requests (id, created_at, account_id, api_key_id, request_id, model, format, streamed, upstream,
      upstream_format, upstream_model, outcome, error_code, catalogue_version, price_list, end_user, batch_id, cost_factor, modifiers,
      input_tokens, cache_read_tokens, cache_write_tokens, cache_write_1h_tokens, output_tokens,
      audio_input_tokens, audio_cache_read_tokens, audio_output_tokens, characters, audio_seconds, web_searches, search_units,
      reasoning_tokens, calls, estimated, charge, latency_ms, first_byte_ms, held, excess, absorbed)
    SELECT id, created_at, account_id, api_key_id, request_id, model, format, streamed, upstream, upstream_format,
      upstream_model, outcome, error_code, catalogue_version, price_list, end_user, batch_id, cost_factor, modifiers, input_tokens,
      cache_read_tokens, cache_write_tokens, cache_write_1h_tokens, output_tokens,
      audio_input_tokens, audio_cache_read_tokens, audio_output_tokens, characters, audio_seconds, web_searches, search_units,
      reasoning_tokens, calls, estimated,
      charge, latency_ms, first_byte_ms, amount_held, 0, 0
    FROM ended WHERE charge <= amount_held
  )
  SELECT jsonb_agg(to_jsonb(ended) || jsonb_build_object('held', amount_held)) FILTER (WHERE charge > amount_held),
    bool_or(releases_slot), bool_or(failed_attempts IS NOT NULL) INTO overruns, has_slots, has_failed
  FROM ended;

  IF overruns IS NOT NULL THEN
    FOR overrun IN SELECT value FROM jsonb_array_elements(overruns) LOOP
      INSERT INTO text_requests SELECT request.* FROM charge_beyond_hold(
        jsonb_populate_record(NULL::text_requests, overrun), (overrun->>'funded_only')::boolean,
        overrun->>'charge_id', moment) AS request;
    END LOOP;
  END IF;
  IF has_slots THEN
    DELETE FROM text_free_slots AS slot USING unnest(items) AS settled
    WHERE settled.releases_slot AND slot.account_id = settled.account_id AND slot.text_request_id = settled.id;
  END IF;
  IF has_failed THEN
    INSERT INTO failed_text_attempts (text_request_id, number, created_at, account_id, api_key_id, model, upstream,
      upstream_model, catalogue_version, input_tokens, cache_read_tokens, cache_write_tokens, cache_write_1h_tokens,
        output_tokens, audio_input_tokens, audio_cache_read_tokens, audio_output_tokens, characters, audio_seconds, web_searches, search_units,
        reasoning_tokens, estimated)
    SELECT settled.id, attempt.place, settled.created_at, settled.account_id, settled.api_key_id, settled.model,
      attempt.used->>'upstream', attempt.used->>'upstream_model', settled.catalogue_version,
      (attempt.used->>'input_tokens')::bigint, (attempt.used->>'cache_read_tokens')::bigint,
        (attempt.used->>'cache_write_tokens')::bigint, (attempt.used->>'cache_write_1h_tokens')::bigint,
        (attempt.used->>'output_tokens')::bigint,
        (attempt.used->>'audio_input_tokens')::bigint,
        (attempt.used->>'audio_cache_read_tokens')::bigint,
        (attempt.used->>'audio_output_tokens')::bigint,
        (attempt.used->>'characters')::bigint,
        (attempt.used->>'audio_seconds')::bigint,
        (attempt.used->>'web_searches')::bigint,
        (attempt.used->>'search_units')::bigint,
        (attempt.used->>'reasoning_tokens')::bigint,
        (attempt.used->>'estimated')::boolean
    FROM unnest(items) AS settled, jsonb_array_elements(settled.failed_attempts) WITH ORDINALITY AS attempt(used, place);
  END IF;
END $$;

-- Recalls unused money of an account from the allowances of living processes other than own_id, of one key or one budget if
-- they are given. An allowance that has answered since recalled_since has nothing left to return. Returns whether any
-- allowance has yet to answer, so that asking again may succeed.
CREATE OR REPLACE FUNCTION recall_text_money(owner_id text, own_id text, key_id text, budget_id text,
  recalled_since timestamptz, moment timestamptz)
RETURNS boolean LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  other record;
  is_recalling boolean := false;
BEGIN
  FOR other IN
    SELECT allowance.id, recalled_at > coalesce(answered_at, '-infinity') AS is_recalled
    FROM text_allowances AS allowance JOIN processes ON processes.id = allowance.process_id
    WHERE allowance.account_id = owner_id AND allowance.id <> own_id
      AND (key_id IS NULL OR allowance.api_key_id = key_id)
      AND (budget_id IS NULL OR budget_id = ANY (allowance.budget_ids))
      AND (answered_at >= recalled_since) IS NOT TRUE AND processes.heartbeat_at > moment - interval '2 seconds'
  LOOP
    is_recalling := true;
    IF other.is_recalled IS NOT TRUE THEN
      UPDATE text_allowances SET recalled_at = moment WHERE id = other.id;
    END IF;
  END LOOP;
  RETURN is_recalling;
END $$;

-- Decides on the requests that wait for money, and moves money between balances and allowances. The caller has locked their
-- accounts and keys.
--
-- asks: for each allowance that changes, its id, its key and its budgets, the money that returns, and the
-- requests that wait: each gets between its least and its most amount: a quarter of what the balance and the limits leave, or
-- the usual amount as far as it is at most a third of that, so that one request leaves room for the next ones. If the account
-- has plenty, which is fifty times the largest hold, the allowance gets up to extra more, at most a tenth of what is left; what
-- it kept counts towards all three.
-- A request for which the money lacks makes the other processes return theirs first: see recall_text_money.
--
-- Returns the decisions on the requests in their order, and what each ask got.
CREATE OR REPLACE FUNCTION grant_text(writer uuid, asks json, moment timestamptz, free_limit integer,
  free_limit_topped_up integer, OUT decisions jsonb[], OUT answers jsonb[], OUT ms_left integer)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  counting json;
  counts jsonb := '{}';
  ask record;
  item record;
  account_at text := '';
  key_at text := '';
  signup_left numeric;
  funded_left numeric;
  debt_left numeric;
  key_left numeric;
  -- The budget that leaves least, and what it leaves. All budgets of an allowance get and return the same amounts, so it
  -- is the same for all of its requests. Null without a budget, as the limits of keys are.
  budget budgets;
  budget_left numeric;
  budget_ends_at timestamptz;
  room numeric;
  funds numeric;
  returned_signup numeric;
  returned_funded numeric;
  granted numeric;
  granted_signup numeric;
  amount numeric;
  signup_part numeric;
  request_count bigint;
  has_plenty boolean;
  refusal text;
  retry_after_seconds integer;
  is_recalling boolean;
  change_signup numeric;
  change_funded numeric;
  moved transfers[] := '{}';
BEGIN
  decisions := '{}';
  answers := '{}';
  SELECT json_agg(ask) INTO counting FROM json_to_recordset(asks)
    AS ask(place integer, api_key_id text, request_limit integer, requests integer,
      extra_requests integer) WHERE request_limit IS NOT NULL AND requests + extra_requests > 0;
  IF counting IS NOT NULL THEN
    SELECT jsonb_object_agg(place, jsonb_build_object('before', before, 'counted_to', before + counted)) INTO counts
    FROM count_text_requests(counting);
  END IF;
  ms_left := 1000 * extract(epoch FROM date_trunc('minute', now()) + interval '1 minute' - now());

  FOR ask IN
    SELECT wanted.*, account.signup_available, account.funded_available, account.debt, account.has_promo, account.topped_up_at,
      key.usage_limit, key.expires_at, key_used, key_used - key.reserved >= key.usage_limit AS key_is_spent,
      is_period_over(key, moment) AS is_new_period, period_end(key.limit_period, moment) AS period_ends_at,
      CASE
        WHEN account.id IS NULL OR key.id IS NULL OR key.deleted_at IS NOT NULL THEN 'key_deleted'
        WHEN account.suspended_at IS NOT NULL THEN 'account_suspended'
        WHEN key.disabled_at IS NOT NULL THEN 'key_disabled'
        WHEN key.expires_at <= moment THEN 'key_expired'
      END AS key_refusal,
      coalesce(allowance.budget_ids, ARRAY(SELECT json_array_elements_text(wanted.budget_ids) ORDER BY 1)) AS all_budget_ids,
      coalesce(allowance.signup_amount, 0) AS had_signup,
      coalesce(allowance.amount - allowance.signup_amount, 0) AS had_funded
    FROM json_to_recordset(asks) AS wanted(place integer, id text, taking_id text, release_id text, account_id text,
      api_key_id text, budget_ids json, returned_signup numeric, returned_funded numeric, kept numeric,
      extra numeric, largest numeric, is_answered boolean, requests integer, holds json)
    LEFT JOIN accounts AS account ON account.id = wanted.account_id
    LEFT JOIN api_keys AS key ON key.id = wanted.api_key_id AND key.account_id = wanted.account_id
    LEFT JOIN text_allowances AS allowance ON allowance.id = wanted.id AND allowance.process_id = writer
    CROSS JOIN LATERAL used_in_period(key, moment) AS key_used
    ORDER BY wanted.account_id, wanted.api_key_id, wanted.place
  LOOP
    IF ask.account_id <> account_at THEN
      account_at := ask.account_id;
      key_at := '';
      signup_left := ask.signup_available - CASE WHEN ask.has_promo THEN expired_promo(account_at) ELSE 0 END;
      funded_left := ask.funded_available;
      debt_left := ask.debt;
    END IF;
    returned_signup := least(ask.returned_signup, ask.had_signup);
    returned_funded := least(ask.returned_funded, ask.had_funded);
    -- Promo credit that has expired since cannot be granted again.
    signup_left := signup_left + returned_signup
      - CASE WHEN ask.has_promo THEN least(returned_signup, expired_hold(ask.id)) ELSE 0 END;
    -- Returned money pays a debt before it can be granted again.
    funded_left := funded_left + greatest(returned_funded - debt_left, 0);
    debt_left := greatest(debt_left - returned_funded, 0);
    IF ask.api_key_id <> key_at THEN
      key_at := ask.api_key_id;
      key_left := ask.usage_limit - ask.key_used;
      IF ask.is_new_period THEN PERFORM renew_period(ask.api_key_id, moment); END IF;
    END IF;
    key_left := key_left + returned_signup + returned_funded;
    budget := NULL;
    budget_left := NULL;
    budget_ends_at := NULL;
    IF ask.all_budget_ids <> '{}' THEN
      budget := tightest_budget(ask.all_budget_ids, ask.account_id, moment);
      budget_left := budget.usage_limit - budget.used + returned_signup + returned_funded;
      SELECT min(period_end(limit_period, moment)) INTO budget_ends_at FROM budgets WHERE id = ANY (ask.all_budget_ids);
    END IF;
    request_count := (counts->ask.place::text->>'before')::bigint;
    granted := 0;
    granted_signup := 0;

    FOR item IN
      SELECT * FROM json_to_recordset(ask.holds) AS hold(place integer, text_request_id text, min_amount numeric,
        usual_amount numeric, max_amount numeric, free boolean, funded_only boolean, is_top_up_required boolean,
        request_limit integer, recalled_since timestamptz) ORDER BY place
    LOOP
      IF item.request_limit IS NOT NULL THEN request_count := request_count + 1; END IF;
      retry_after_seconds := NULL;
      is_recalling := false;
      amount := 0;
      signup_part := 0;
      funds := funded_left + CASE WHEN item.funded_only THEN 0 ELSE signup_left END;
      refusal := CASE
        WHEN request_count > item.request_limit THEN 'request_limit'
        WHEN ask.key_refusal IS NOT NULL THEN ask.key_refusal
        WHEN ask.key_is_spent THEN 'key_exhausted'
        WHEN item.is_top_up_required AND ask.topped_up_at IS NULL THEN 'never_topped_up'
        WHEN item.min_amount > 0 AND item.min_amount > key_left THEN 'key_limit'
        WHEN item.min_amount > 0 AND item.min_amount > budget_left THEN
          CASE WHEN budget.end_user IS NULL THEN 'budget_limit' ELSE 'end_user_limit' END
        WHEN item.min_amount > funds THEN
          CASE WHEN item.funded_only THEN 'insufficient_funds' ELSE 'insufficient_credits' END
      END;
      IF refusal IS NULL AND item.free THEN
        retry_after_seconds := reserve_free_slot(ask.account_id, item.text_request_id, moment,
          CASE WHEN ask.topped_up_at IS NULL THEN free_limit ELSE free_limit_topped_up END);
        IF retry_after_seconds IS NOT NULL THEN refusal := 'free_limit'; END IF;
      END IF;
      IF refusal IS NULL AND item.max_amount > 0 THEN
        room := least(key_left, budget_left, funds);
        amount := least(item.max_amount,
          greatest(item.min_amount, least(item.usual_amount, trunc(room / 3)), trunc(room / 4)));
        -- Signup credit is spent first.
        IF NOT item.funded_only THEN signup_part := least(signup_left, amount); END IF;
        signup_left := signup_left - signup_part;
        funded_left := funded_left - (amount - signup_part);
        key_left := key_left - amount;
        budget_left := budget_left - amount;
        granted := granted + amount;
        granted_signup := granted_signup + signup_part;
      ELSIF refusal IN ('key_limit', 'budget_limit', 'end_user_limit', 'insufficient_credits', 'insufficient_funds') THEN
        amount := CASE refusal WHEN 'key_limit' THEN greatest(key_left, 0)
          WHEN 'budget_limit' THEN greatest(budget_left, 0)
          WHEN 'end_user_limit' THEN greatest(budget_left, 0) ELSE funds END;
        is_recalling := recall_text_money(ask.account_id, ask.id,
          CASE refusal WHEN 'key_limit' THEN ask.api_key_id END,
          CASE WHEN refusal IN ('budget_limit', 'end_user_limit') THEN budget.id END,
          item.recalled_since, moment);
      ELSIF refusal = 'request_limit' THEN
        retry_after_seconds := greatest(1, ceil(ms_left / 1000.0));
      END IF;
      decisions[item.place] := jsonb_build_object('refusal', refusal, 'is_recalling', is_recalling, 'amount', amount::text,
        'signup', signup_part::text, 'budget_id',
        CASE WHEN refusal IN ('budget_limit', 'end_user_limit') THEN budget.id END, 'retry_after_seconds', retry_after_seconds, 'position',
        CASE WHEN item.request_limit IS NOT NULL THEN request_count END);
    END LOOP;

    room := least(key_left, budget_left, signup_left + funded_left) + ask.kept;
    has_plenty := (granted > 0 OR ask.extra > 0 AND json_array_length(ask.holds) = 0) AND ask.key_refusal IS NULL
      AND ask.key_is_spent IS NOT TRUE AND NOT ask.has_promo AND room >= 50 * ask.largest;
    IF has_plenty THEN
      amount := greatest(0, least(ask.extra, trunc(room / 10)) - ask.kept);
      signup_part := least(signup_left, amount);
      signup_left := signup_left - signup_part;
      funded_left := funded_left - (amount - signup_part);
      key_left := key_left - amount;
      granted := granted + amount;
      granted_signup := granted_signup + signup_part;
    END IF;
    answers := answers || jsonb_build_object('place', ask.place, 'has_plenty', has_plenty,
      'is_small', room >= 100 * (ask.kept + granted), 'has_topped_up', ask.topped_up_at IS NOT NULL, 'valid_ms',
      trunc(1000 * extract(epoch FROM least(ask.expires_at, ask.period_ends_at, budget_ends_at) - moment)),
      'first_place', request_count + 1, 'last_place', (counts->ask.place::text->>'counted_to')::bigint);

    change_signup := granted_signup - returned_signup;
    change_funded := granted - granted_signup - returned_funded;
    IF ask.had_signup + ask.had_funded + granted > 0 THEN
      INSERT INTO text_allowances AS kept (id, process_id, account_id, api_key_id, budget_ids, amount,
        signup_amount, opened_at)
      VALUES (ask.id, writer, ask.account_id, ask.api_key_id, ask.all_budget_ids, granted, granted_signup, moment)
      ON CONFLICT (id) DO UPDATE SET amount = kept.amount + change_signup + change_funded,
        signup_amount = kept.signup_amount + change_signup,
        answered_at = CASE WHEN ask.is_answered THEN moment ELSE kept.answered_at END;
    END IF;
    IF budget.id IS NOT NULL THEN PERFORM count_towards_budgets(ask.all_budget_ids, change_signup + change_funded); END IF;
    moved := moved || ARRAY(
      SELECT jsonb_populate_record(NULL::transfers, jsonb_build_object('id', id,
        'opened_at', moment, 'created_at', moment, 'kind', kind, 'debit', debit, 'credit', credit,
        'amount', signup + funded, 'signup_amount', signup, 'account_id', ask.account_id,
        'api_key_id', ask.api_key_id, 'allowance_id', ask.id))
      FROM (VALUES
        (ask.taking_id, 'allowance', 'available', 'reserved', greatest(change_signup, 0), greatest(change_funded, 0)),
        (ask.release_id, 'release', 'reserved', 'available', greatest(-change_signup, 0), greatest(-change_funded, 0)))
        AS change(id, kind, debit, credit, signup, funded)
      WHERE signup + funded > 0);
  END LOOP;
  IF cardinality(moved) > 0 THEN
    INSERT INTO transfers SELECT * FROM unnest(moved);
  END IF;
END $$;

-- writer: the process. write_number: grows by one with each write, and stays the same when a write is repeated.
-- may_be_recorded: whether items may have been written under another number. Recorded items are skipped. The function
-- looks for them without being asked when it does not know the process, or no longer.
--
-- asks: see grant_text. items: completed requests with what the allowance pays for each (paid).
--
-- Returns the decisions on the requests in their order; the allowances after the write that it touched, or all if
-- wants_all; what each ask got; the ids of allowances to return; the number and sum of the writer's allowances, if there
-- is nothing else to write; and whether the number was written before, in which case nothing changes.
CREATE OR REPLACE FUNCTION write_text(writer uuid, write_number bigint, asks json, items text_settlement[],
  may_be_recorded boolean, wants_all boolean, free_limit integer, free_limit_topped_up integer)
RETURNS jsonb LANGUAGE plpgsql SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
  moment timestamptz(3);
  previous_write bigint;
  is_repeated boolean;
  owner_ids text[];
  key_ids text[];
  ask_ids text[];
  recorded_ids text[];
  ms_left integer;
  decisions jsonb[] := '{}';
  answers jsonb[] := '{}';
BEGIN
  IF cardinality(items) = 0 THEN
    PERFORM set_config('synchronous_commit', 'off', true);
  END IF;
  previous_write := renew_text_lease(writer, write_number);
  is_repeated := coalesce(previous_write >= write_number, false);
  IF json_array_length(asks) > 0 THEN
    SELECT array_agg(account_id), array_agg(api_key_id), array_agg(id) INTO owner_ids, key_ids, ask_ids
    FROM json_to_recordset(asks) AS ask(account_id text, api_key_id text, id text);
  END IF;

  IF (previous_write IS NULL OR may_be_recorded) AND cardinality(items) > 0 THEN
    recorded_ids := ARRAY(SELECT allowance_id FROM unnest(items) WHERE paid > 0);
    items := ARRAY(SELECT settled FROM unnest(items) AS settled
      WHERE NOT EXISTS (SELECT FROM text_requests WHERE id = settled.id AND created_at = settled.created_at));
  END IF;

  IF NOT is_repeated AND cardinality(items) + coalesce(cardinality(ask_ids), 0) > 0 THEN
    PERFORM FROM accounts WHERE id = ANY (owner_ids || (SELECT array_agg(account_id) FROM unnest(items)))
    ORDER BY id FOR NO KEY UPDATE;
    IF key_ids IS NOT NULL THEN
      PERFORM FROM api_keys WHERE id = ANY (key_ids) ORDER BY id FOR NO KEY UPDATE;
    END IF;
  END IF;
  moment := clock_timestamp();

  -- A process that runs lines of batches serves nothing else.
  IF NOT is_repeated AND (items[1]).batch_id IS NOT NULL THEN
    recorded_ids := recorded_ids || ARRAY(SELECT allowance_id FROM unnest(items) WHERE paid > 0);
    items := answer_batch_lines(items);
  END IF;
  IF NOT is_repeated AND cardinality(items) > 0 THEN PERFORM settle_text(writer, items, moment); END IF;
  IF NOT is_repeated AND ask_ids IS NOT NULL THEN
    SELECT * INTO decisions, answers, ms_left FROM grant_text(writer, asks, moment, free_limit, free_limit_topped_up);
  END IF;

  IF cardinality(items) > 0 OR ask_ids IS NOT NULL THEN
    DELETE FROM text_allowances WHERE process_id = writer AND amount = 0;
  END IF;
  RETURN jsonb_build_object(
    'is_repeated', is_repeated,
    'at', moment,
    'ms_left', ms_left,
    'decisions', to_jsonb(decisions),
    'answers', to_jsonb(answers),
    'allowances', (SELECT jsonb_agg(jsonb_build_object('id', id, 'account_id', account_id, 'api_key_id', api_key_id,
        'amount', amount::text, 'signup', signup_amount::text))
      FROM text_allowances
      WHERE process_id = writer AND (wants_all OR id = ANY (ask_ids) OR id = ANY (recorded_ids)
        OR id IN (SELECT allowance_id FROM unnest(items) WHERE paid > 0))),
    'recalled', (SELECT jsonb_agg(id) FROM text_allowances
      WHERE process_id = writer AND recalled_at IS NOT NULL AND (answered_at >= recalled_at) IS NOT TRUE),
    'sum', CASE WHEN ask_ids IS NULL AND cardinality(items) = 0 THEN
      (SELECT coalesce(sum(amount), 0)::text FROM text_allowances WHERE process_id = writer) END);
END $$;
