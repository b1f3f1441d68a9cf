/**
 * `write_text` holds and settles the money of many text requests: one statement, one lock of each account and key, one
 * insert of transfers with its checks and triggers, one commit. Most of the cost of a statement does not depend on how
 * much it writes.
 *
 * Whoever moves money locks accounts first, in the order of their ids, and an account's keys after it, so that no two
 * wait for each other. Times are taken under those locks, so that an account's transfers are in the order in which they
 * happened. Holds come first: they do not see what the settlements beside them release.
 *
 * A statement that only holds commits without waiting for the disk. If the database crashes within that moment, the
 * hold is lost with everything that built on it, and the settlement finds no hold: the charge is then taken from what
 * is available, as the charge of a request that was abandoned too early. A settlement waits for the disk, and so for
 * every earlier hold.
 */
export const WRITE_TEXT = /* sql */ `
-- Holds between the least and the most amount of each request, in the order of the arrays for each key: a quarter of
-- what the balance and the key's limit leave, or the usual amount as far as it is at most a third of that, so that one
-- request leaves room for the next ones, and requests of rich accounts hold the most. A request with a request limit is
-- counted among the requests of its key, and holds nothing beyond that limit. Ends other requests: charges what was
-- used, releases the rest of the hold, and records the usage.
--
-- Returns the holds below the most amount with their amounts; refused holds with the reason and with what was left for
-- them; how many requests each key has made in this minute, with the seconds left of the minute; and the ids of
-- requests to end that have no hold: they ended before, or their hold is lost.
--
-- Repeating a call changes nothing: when the answer of a batch was lost it is sent again, and the first may arrive
-- after the second. A hold that exists does not change, nothing is held for a request that has ended, and a request
-- ends once. With is_repeated, counts are only read, so that no request is counted twice; if the first call never
-- arrives, its requests are not counted.
CREATE OR REPLACE FUNCTION write_text(process_id uuid, catalogue_version text, free_limit integer, free_limit_topped_up integer,
  hold_ids text[], reservation_ids text[], holder_ids text[], api_key_ids text[], least_amounts numeric[],
  usual_amounts numeric[], most_amounts numeric[], free boolean[], funded_only boolean[], needs_top_up boolean[],
  began_at timestamptz[], request_ids text[], models text[], formats text[], streamed boolean[], request_limits integer[],
  ids text[], account_ids text[], resolution_ids text[], excess_ids text[],
  absorbed_ids text[], outcomes text[], error_codes text[], charges numeric[], modifiers jsonb[],
  input_tokens bigint[], cache_read_tokens bigint[], cache_write_tokens bigint[], output_tokens bigint[],
  reasoning_tokens bigint[], calls smallint[], estimated boolean[], upstreams text[], upstream_formats text[], upstream_models text[],
  latencies_ms integer[], first_bytes_ms integer[], gives_slots_back boolean[], is_repeated boolean)
RETURNS TABLE ("position" integer, refusal text, amount numeric, retry_after_seconds integer, without_hold text,
  counted_key_id text, requests bigint)
LANGUAGE plpgsql SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
  moment timestamptz(3);
  held integer[] := '{}';
  amounts numeric[] := array_fill(0::numeric, ARRAY[cardinality(hold_ids)]);
  signup_amounts numeric[] := amounts;
  item record;
  account_at text := '';
  key_at text := '';
  signup_left numeric;
  funded_left numeric;
  key_left numeric;
  counted_ids text[];
  counts bigint[];
  counts_before bigint[];
  seconds_left integer := ceil(extract(epoch FROM date_trunc('minute', now()) + interval '1 minute' - now()));
  request_count bigint;
  funds numeric;
  room numeric;
  lost text[];
  overruns jsonb;
  overrun jsonb;
BEGIN
  IF cardinality(ids) = 0 THEN
    PERFORM set_config('synchronous_commit', 'off', true);
  END IF;
  PERFORM FROM accounts AS account WHERE account.id = ANY (holder_ids || account_ids) ORDER BY account.id
    FOR NO KEY UPDATE;
  PERFORM FROM api_keys AS key WHERE key.id = ANY (api_key_ids) ORDER BY key.id FOR NO KEY UPDATE;
  moment := clock_timestamp();

  IF cardinality(hold_ids) > 0 THEN
    WITH turn AS MATERIALIZED (
      SELECT key_id, count(*) AS requests FROM unnest(api_key_ids, request_limits) AS request(key_id, request_limit)
      WHERE request_limit IS NOT NULL GROUP BY key_id
    ), counted AS (
      INSERT INTO request_windows AS counted (api_key_id, window_start, reads, requests)
      SELECT key_id, date_trunc('minute', now()), false, requests FROM turn WHERE NOT is_repeated ORDER BY key_id
      ON CONFLICT (api_key_id, window_start, reads) DO UPDATE SET requests = counted.requests + EXCLUDED.requests
      RETURNING api_key_id, requests
    ), known AS (
      SELECT api_key_id, requests FROM counted
      UNION ALL
      SELECT api_key_id, requests FROM request_windows
      WHERE is_repeated AND api_key_id = ANY (api_key_ids) AND window_start = date_trunc('minute', now()) AND NOT reads
    )
    SELECT array_agg(turn.key_id), array_agg(coalesce(known.requests, 0)),
      array_agg(coalesce(known.requests, 0) - turn.requests)
    INTO counted_ids, counts, counts_before FROM turn LEFT JOIN known ON known.api_key_id = turn.key_id;

    FOR item IN
      SELECT request.*, account.signup_available, account.funded_available, account.has_promo, account.topped_up_at,
        key.usage_limit - least(key.used, key.usage_limit) AS key_available,
        key.used - key.reserved >= key.usage_limit AS key_is_spent,
        CASE
          WHEN account.id IS NULL OR key.id IS NULL OR key.deleted_at IS NOT NULL THEN 'key_deleted'
          WHEN account.suspended_at IS NOT NULL THEN 'account_suspended'
          WHEN key.disabled_at IS NOT NULL THEN 'key_disabled'
          WHEN key.expires_at <= moment THEN 'key_expired'
        END AS key_refusal,
        earlier.amount AS earlier_amount,
        EXISTS (SELECT FROM text_requests AS ended WHERE ended.id = request.id AND ended.created_at = request.created_at
          OFFSET 0) AS has_ended
      FROM (SELECT place, hold_ids[place] AS id, holder_ids[place] AS account_id, api_key_ids[place] AS api_key_id,
          least_amounts[place] AS least_amount, usual_amounts[place] AS usual_amount, most_amounts[place] AS most_amount,
          free[place] AS free, funded_only[place] AS funded_only, needs_top_up[place] AS needs_top_up,
          began_at[place] AS created_at, request_limits[place] AS request_limit
        FROM generate_series(1, cardinality(hold_ids)) AS place OFFSET 0) AS request
      LEFT JOIN text_holds AS earlier ON earlier.id = request.id AND earlier.id = ANY (hold_ids)
      LEFT JOIN accounts AS account ON account.id = request.account_id AND account.id = ANY (holder_ids)
      LEFT JOIN api_keys AS key ON key.id = request.api_key_id AND key.id = ANY (api_key_ids)
        AND key.account_id = request.account_id
      ORDER BY request.account_id, request.api_key_id, request.place
    LOOP
      IF item.account_id <> account_at THEN
        account_at := item.account_id;
        key_at := '';
        signup_left := item.signup_available - CASE WHEN item.has_promo THEN expired_promo(account_at) ELSE 0 END;
        funded_left := item.funded_available;
      END IF;
      IF item.api_key_id <> key_at THEN
        key_at := item.api_key_id;
        key_left := item.key_available;
        request_count := counts_before[array_position(counted_ids, key_at)];
      END IF;
      IF item.request_limit IS NOT NULL THEN request_count := request_count + 1; END IF;

      "position" := item.place;
      retry_after_seconds := NULL;
      IF item.has_ended OR item.earlier_amount IS NOT NULL THEN
        refusal := CASE WHEN item.has_ended THEN 'ended' END;
        amount := item.earlier_amount;
        RETURN NEXT;
        CONTINUE;
      END IF;
      funds := funded_left + CASE WHEN item.funded_only THEN 0 ELSE signup_left END;
      refusal := CASE
        WHEN request_count > item.request_limit THEN 'request_limit'
        WHEN item.key_refusal IS NOT NULL THEN item.key_refusal
        WHEN item.key_is_spent THEN 'key_exhausted'
        WHEN item.needs_top_up AND item.topped_up_at IS NULL THEN 'never_topped_up'
        WHEN item.least_amount > key_left THEN 'key_limit'
        WHEN item.least_amount > funds THEN
          CASE WHEN item.funded_only THEN 'insufficient_funds' ELSE 'insufficient_credits' END
      END;
      IF refusal IS NULL AND item.free THEN
        retry_after_seconds := take_free_slot(item.account_id, item.id, moment,
          CASE WHEN item.topped_up_at IS NULL THEN free_limit ELSE free_limit_topped_up END);
        IF retry_after_seconds IS NOT NULL THEN refusal := 'free_limit'; END IF;
      END IF;
      IF refusal IS NOT NULL THEN
        amount := CASE WHEN refusal = 'key_limit' THEN key_left ELSE funds END;
        IF refusal = 'request_limit' THEN retry_after_seconds := seconds_left; END IF;
        RETURN NEXT;
        CONTINUE;
      END IF;

      held := held || item.place;
      IF item.most_amount > 0 THEN
        room := least(key_left, funds);
        amount := least(item.most_amount,
          greatest(item.least_amount, least(item.usual_amount, trunc(room / 3)), trunc(room / 4)));
        amounts[item.place] := amount;
        -- Signup credit is spent first.
        IF NOT item.funded_only THEN signup_amounts[item.place] := least(signup_left, amount); END IF;
        signup_left := signup_left - signup_amounts[item.place];
        funded_left := funded_left - (amount - signup_amounts[item.place]);
        key_left := key_left - amount;
        IF amount < item.most_amount THEN RETURN NEXT; END IF;
      END IF;
    END LOOP;
  END IF;

  WITH item AS (
    SELECT place, ids[place] AS id, charges[place] AS charge, resolution_ids[place] AS resolution_id
    FROM generate_series(1, cardinality(ids)) AS place
  ), taken AS (
    DELETE FROM text_holds WHERE id = ANY (ids) RETURNING *
  ), ended AS MATERIALIZED (
    SELECT hold.*, item.place, item.charge, item.resolution_id, least(item.charge, hold.amount) AS paid,
      least(hold.signup_amount, item.charge) AS paid_signup
    FROM taken AS hold JOIN item USING (id)
  ), transferred AS (
    INSERT INTO transfers (id, opened_at, created_at, kind, debit, credit, amount, signup_amount,
      released, released_signup, pending_id, account_id, api_key_id, text_request_id)
    SELECT reservation_ids[place], moment, moment, 'reservation', 'available', 'reserved', amounts[place],
      signup_amounts[place], 0, 0, NULL, holder_ids[place], api_key_ids[place], hold_ids[place]
    FROM unnest(held) AS place WHERE amounts[place] > 0
    UNION ALL
    SELECT resolution_id, opened_at, moment, 'settlement', 'reserved', 'revenue', paid, paid_signup,
      amount - paid, signup_amount - paid_signup, reservation_id, account_id, api_key_id, id
    FROM ended WHERE reservation_id IS NOT NULL AND paid > 0
    UNION ALL
    SELECT resolution_id, opened_at, moment, 'refund', 'reserved', 'available', amount, signup_amount,
      0, 0, reservation_id, account_id, api_key_id, id
    FROM ended WHERE reservation_id IS NOT NULL AND paid = 0
  ), taking AS (
    INSERT INTO text_holds (id, process_id, account_id, api_key_id, reservation_id, opened_at, amount, signup_amount,
      funded_only, created_at, request_id, model, format, streamed, catalogue_version)
    SELECT hold_ids[place], write_text.process_id, holder_ids[place], api_key_ids[place],
      CASE WHEN amounts[place] > 0 THEN reservation_ids[place] END, moment, amounts[place], signup_amounts[place],
      write_text.funded_only[place], began_at[place], request_ids[place], models[place], formats[place],
      write_text.streamed[place], write_text.catalogue_version
    FROM unnest(held) AS place
  ), recorded AS (
    INSERT INTO text_requests (id, created_at, account_id, api_key_id, request_id, model, format, streamed, upstream,
      upstream_format, upstream_model, outcome, error_code, catalogue_version, modifiers, input_tokens,
      cache_read_tokens, cache_write_tokens, output_tokens, reasoning_tokens, calls, estimated, held, charge, excess,
      absorbed, reservation_id, opened_at, latency_ms, first_byte_ms)
    SELECT id, created_at, account_id, api_key_id, request_id, model, format, streamed, upstreams[place],
      upstream_formats[place], upstream_models[place], outcomes[place], error_codes[place], catalogue_version,
      write_text.modifiers[place], write_text.input_tokens[place], write_text.cache_read_tokens[place],
      write_text.cache_write_tokens[place], write_text.output_tokens[place], write_text.reasoning_tokens[place],
      write_text.calls[place], write_text.estimated[place], amount, charge, 0, 0, reservation_id, opened_at, latencies_ms[place],
      first_bytes_ms[place]
    FROM ended WHERE charge <= amount
  )
  SELECT (SELECT array_agg(id) FROM item WHERE id NOT IN (SELECT id FROM ended)),
    (SELECT jsonb_agg(to_jsonb(ended) || jsonb_build_object('held', amount, 'outcome', outcomes[place],
      'error_code', error_codes[place], 'modifiers', write_text.modifiers[place],
      'input_tokens', write_text.input_tokens[place], 'cache_read_tokens', write_text.cache_read_tokens[place],
      'cache_write_tokens', write_text.cache_write_tokens[place], 'output_tokens', write_text.output_tokens[place],
      'reasoning_tokens', write_text.reasoning_tokens[place], 'calls', write_text.calls[place], 'estimated', write_text.estimated[place],
      'upstream', upstreams[place], 'upstream_format', upstream_formats[place],
      'upstream_model', upstream_models[place], 'latency_ms', latencies_ms[place],
      'first_byte_ms', first_bytes_ms[place])) FROM ended WHERE charge > amount)
  INTO lost, overruns;

  IF true = ANY (gives_slots_back) THEN
    DELETE FROM text_free_slots AS slot
    USING unnest(account_ids, ids, gives_slots_back) AS ended(account_id, id, gives_slot_back)
    WHERE slot.account_id = ended.account_id AND slot.text_request_id = ended.id AND slot.text_request_id = ANY (ids)
      AND slot.account_id = ANY (account_ids) AND ended.gives_slot_back;
  END IF;
  IF overruns IS NOT NULL THEN
    FOR overrun IN SELECT value FROM jsonb_array_elements(overruns) LOOP
      INSERT INTO text_requests SELECT request.* FROM charge_beyond_hold(
        jsonb_populate_record(NULL::text_requests, overrun), (overrun->>'funded_only')::boolean,
        excess_ids[(overrun->>'place')::integer], absorbed_ids[(overrun->>'place')::integer]) AS request;
    END LOOP;
  END IF;
  IF lost IS NOT NULL THEN
    RETURN QUERY SELECT NULL::integer, NULL, NULL::numeric, NULL::integer, id, NULL, NULL::bigint
    FROM unnest(lost) AS id;
  END IF;
  IF counted_ids IS NOT NULL THEN
    RETURN QUERY SELECT NULL::integer, NULL, NULL::numeric, seconds_left, NULL, counted.id, counted.requests
    FROM unnest(counted_ids, counts) AS counted(id, requests);
  END IF;
END $$;
`;
