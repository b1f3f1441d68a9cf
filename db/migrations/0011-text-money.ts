import type { Knex } from 'knex';

/**
 * Holding and settling the money of many text requests at once: one statement, one lock of each account and key, one commit.
 *
 * Everybody who moves money locks accounts first, in the order of their ids, and an account's keys after it; so no two wait
 * for each other. Times are taken under those locks, so that an account's transfers are in the order in which they happened.
 *
 * A hold is committed without waiting for the disk. Should the database crash within that moment, the hold is forgotten with
 * everything that built on it, and settling it finds none: the charge is then taken from what is available, as that of a
 * request that was abandoned too early. A settlement waits for the disk, and by that for every hold before it.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(/* sql */ `
    -- Holds between the least and the most amount of each request, in the order of the arrays for each key: a quarter of what
    -- the balance and the key's limit leave, or the usual amount as far as it is at most a third of it, so that one request
    -- leaves room for the next ones, and those of whoever has plenty hold the most. Returns those that hold less than the
    -- most with what they hold, and those whose least does not fit with the reason and with what was left for them.
    --
    -- Once and twice are the same: when its answer was lost a batch comes again, and the first may arrive after it. What is held
    -- already stays as it is, and nothing is held again for a request that has ended.
    CREATE FUNCTION hold_text(process_id uuid, catalogue_version text, free_limit integer, free_limit_topped_up integer,
      ids text[], reservation_ids text[], account_ids text[], api_key_ids text[], least_amounts numeric[],
      usual_amounts numeric[], most_amounts numeric[], free boolean[], funded_only boolean[], needs_top_up boolean[], created_at timestamptz[], request_ids text[],
      models text[], formats text[], streamed boolean[])
    RETURNS TABLE ("position" integer, refusal text, amount numeric, retry_after_seconds integer)
    LANGUAGE plpgsql SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
    #variable_conflict use_variable
    DECLARE
      moment timestamptz(3);
      held boolean[] := array_fill(false, ARRAY[cardinality(ids)]);
      amounts numeric[] := array_fill(0::numeric, ARRAY[cardinality(ids)]);
      signup_amounts numeric[] := array_fill(0::numeric, ARRAY[cardinality(ids)]);
      item record;
      account_at text := '';
      key_at text := '';
      signup_left numeric;
      funded_left numeric;
      key_left numeric;
      funds numeric;
      room numeric;
    BEGIN
      PERFORM set_config('synchronous_commit', 'off', true);
      PERFORM FROM accounts AS account WHERE account.id = ANY (account_ids) ORDER BY account.id FOR NO KEY UPDATE;
      PERFORM FROM api_keys AS key WHERE key.id = ANY (api_key_ids) ORDER BY key.id FOR NO KEY UPDATE;
      moment := clock_timestamp();

      FOR item IN
        SELECT request.*, account.signup_available, account.funded_available, account.topped_up_at,
          key.usage_limit - least(key.used, key.usage_limit) AS key_available,
          key.used - key.reserved >= key.usage_limit AS key_is_spent,
          CASE
            WHEN account.id IS NULL OR key.id IS NULL OR key.deleted_at IS NOT NULL THEN 'key_deleted'
            WHEN key.disabled_at IS NOT NULL THEN 'key_disabled'
            WHEN key.expires_at <= moment THEN 'key_expired'
          END AS key_refusal,
          earlier.amount AS earlier_amount,
          EXISTS (SELECT FROM text_requests AS ended WHERE ended.id = request.id AND ended.created_at = request.created_at
            OFFSET 0) AS has_ended
        FROM unnest(ids, account_ids, api_key_ids, least_amounts, usual_amounts, most_amounts, free, funded_only,
            needs_top_up, created_at) WITH ORDINALITY
          AS request(id, account_id, api_key_id, least_amount, usual_amount, most_amount, free, funded_only,
            needs_top_up, created_at, place)
        LEFT JOIN text_holds AS earlier ON earlier.id = request.id AND earlier.id = ANY (ids)
        LEFT JOIN accounts AS account ON account.id = request.account_id AND account.id = ANY (account_ids)
        LEFT JOIN api_keys AS key ON key.id = request.api_key_id AND key.id = ANY (api_key_ids)
          AND key.account_id = request.account_id
        ORDER BY request.account_id, request.api_key_id, request.place
      LOOP
        IF item.account_id <> account_at THEN
          account_at := item.account_id;
          key_at := '';
          signup_left := item.signup_available;
          funded_left := item.funded_available;
        END IF;
        IF item.api_key_id <> key_at THEN
          key_at := item.api_key_id;
          key_left := item.key_available;
        END IF;

        retry_after_seconds := NULL;
        IF item.has_ended OR item.earlier_amount IS NOT NULL THEN
          refusal := CASE WHEN item.has_ended THEN 'ended' END;
          "position" := item.place;
          amount := item.earlier_amount;
          RETURN NEXT;
          CONTINUE;
        END IF;
        funds := funded_left + CASE WHEN item.funded_only THEN 0 ELSE signup_left END;
        refusal := CASE
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
          "position" := item.place;
          amount := CASE WHEN refusal = 'key_limit' THEN key_left ELSE funds END;
          RETURN NEXT;
          CONTINUE;
        END IF;

        held[item.place] := true;
        IF item.most_amount > 0 THEN
          room := least(key_left, funds);
          amount := least(item.most_amount,
            greatest(item.least_amount, least(item.usual_amount, trunc(room / 3)), trunc(room / 4)));
          amounts[item.place] := amount;
          -- Signup credit is spent first.
          signup_amounts[item.place] := CASE WHEN item.funded_only THEN 0 ELSE least(signup_left, amount) END;
          signup_left := signup_left - signup_amounts[item.place];
          funded_left := funded_left - (amount - signup_amounts[item.place]);
          key_left := key_left - amount;
          IF amount < item.most_amount THEN
            "position" := item.place;
            RETURN NEXT;
          END IF;
        END IF;
      END LOOP;

      INSERT INTO transfers (id, opened_at, created_at, kind, debit, credit, amount, signup_amount,
        account_id, api_key_id, text_request_id)
      SELECT hold.reservation_id, moment, moment, 'reservation', 'available', 'reserved', hold.amount, hold.signup_amount,
        hold.account_id, hold.api_key_id, hold.id
      FROM unnest(held, ids, reservation_ids, account_ids, api_key_ids, amounts, signup_amounts)
        AS hold(held, id, reservation_id, account_id, api_key_id, amount, signup_amount)
      WHERE hold.held AND hold.amount > 0;

      INSERT INTO text_holds (id, process_id, account_id, api_key_id, reservation_id, opened_at, amount, signup_amount,
        funded_only, created_at, request_id, model, format, streamed, catalogue_version)
      SELECT hold.id, process_id, hold.account_id, hold.api_key_id,
        CASE WHEN hold.amount > 0 THEN hold.reservation_id END, moment, hold.amount, hold.signup_amount,
        hold.funded_only, hold.created_at, hold.request_id, hold.model, hold.format, hold.streamed, catalogue_version
      FROM unnest(held, ids, reservation_ids, account_ids, api_key_ids, amounts, signup_amounts,
          funded_only, created_at, request_ids, models, formats, streamed)
        AS hold(held, id, reservation_id, account_id, api_key_id, amount, signup_amount,
          funded_only, created_at, request_id, model, format, streamed)
      WHERE hold.held;
    END $$;

    -- Takes one of an account's slots for free models; called under the lock of the account. Slots of more than a minute
    -- ago are removed as they are met. Returns the whole seconds until a slot is free when there is none, otherwise null.
    CREATE FUNCTION take_free_slot(taker_account_id text, taker_id text, moment timestamptz, slots integer) RETURNS integer
    LANGUAGE plpgsql AS $$
    DECLARE
      taken integer;
      oldest timestamptz;
    BEGIN
      DELETE FROM text_free_slots WHERE account_id = taker_account_id AND taken_at <= moment - interval '1 minute';
      SELECT count(*), min(taken_at) INTO taken, oldest FROM text_free_slots WHERE account_id = taker_account_id;
      IF taken >= slots THEN
        RETURN greatest(1, ceil(extract(epoch FROM oldest + interval '1 minute' - moment)));
      END IF;
      INSERT INTO text_free_slots (account_id, text_request_id, taken_at) VALUES (taker_account_id, taker_id, moment);
      RETURN NULL;
    END $$;

    -- Takes what a request cost above its hold from what the account has, and books the rest as absorbed; called under the
    -- lock of the account.
    CREATE FUNCTION charge_beyond_hold(INOUT request text_requests, funded_only boolean, excess_id text, absorbed_id text)
    LANGUAGE plpgsql AS $$
    DECLARE
      moment timestamptz(3) := clock_timestamp();
      beyond numeric := greatest(request.charge - request.held, 0);
      signup_part numeric;
    BEGIN
      -- \`expired_promo\`: migration 0034.
      SELECT least(signup_left, beyond), least(funded_available + signup_left, beyond)
      INTO STRICT signup_part, request.excess
      FROM accounts, LATERAL (SELECT CASE WHEN charge_beyond_hold.funded_only THEN 0
        ELSE signup_available - CASE WHEN has_promo THEN expired_promo(accounts.id) ELSE 0 END END) AS spendable(signup_left)
      WHERE id = request.account_id;
      request.absorbed := beyond - request.excess;
      INSERT INTO transfers (id, opened_at, created_at, kind, debit, credit, amount, signup_amount,
        account_id, api_key_id, text_request_id)
      SELECT part.id, moment, moment, part.kind, part.debit, 'revenue', part.amount, part.signup_amount,
        request.account_id, request.api_key_id, request.id
      FROM (VALUES (excess_id, 'excess', 'available', request.excess, signup_part),
        (absorbed_id, 'absorbed_loss', 'absorbed_loss', request.absorbed, 0::numeric))
        AS part(id, kind, debit, amount, signup_amount)
      WHERE part.amount > 0;
    END $$;

    -- Ends requests: what was used is charged, the rest of the hold given back, and the usage recorded. Returns the ids of
    -- those that nothing is held for: they ended before, or their hold is lost.
    CREATE FUNCTION settle_text(ids text[], account_ids text[], resolution_ids text[], excess_ids text[],
      absorbed_ids text[], outcomes text[], error_codes text[], charges numeric[], modifiers jsonb[],
      input_tokens bigint[], cache_read_tokens bigint[], cache_write_tokens bigint[], output_tokens bigint[],
      reasoning_tokens bigint[], estimated boolean[], upstreams text[], upstream_formats text[], upstream_models text[],
      latencies_ms integer[], first_bytes_ms integer[], gives_slots_back boolean[])
    RETURNS text[] LANGUAGE plpgsql SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
    #variable_conflict use_column
    DECLARE
      moment timestamptz(3);
      without_hold text[];
      overruns jsonb;
      overrun jsonb;
    BEGIN
      PERFORM FROM accounts AS account WHERE account.id = ANY (account_ids) ORDER BY account.id FOR NO KEY UPDATE;
      moment := clock_timestamp();
      WITH item AS (
        SELECT * FROM unnest(ids, resolution_ids, excess_ids, absorbed_ids, outcomes, error_codes, charges, modifiers,
          input_tokens, cache_read_tokens, cache_write_tokens, output_tokens, reasoning_tokens, estimated, upstreams,
          upstream_formats, upstream_models, latencies_ms, first_bytes_ms)
        AS item(id, resolution_id, excess_id, absorbed_id, outcome, error_code, charge, modifiers, input_tokens,
          cache_read_tokens, cache_write_tokens, output_tokens, reasoning_tokens, estimated, upstream, upstream_format,
          upstream_model, latency_ms, first_byte_ms)
      ), taken AS (
        DELETE FROM text_holds WHERE id = ANY (ids) RETURNING *
      ), ended AS MATERIALIZED (
        SELECT item.*, hold.created_at, hold.account_id, hold.api_key_id, hold.request_id, hold.model, hold.format,
          hold.streamed, hold.catalogue_version, hold.reservation_id, hold.opened_at, hold.amount AS held,
          hold.signup_amount, hold.funded_only, 0 AS excess, 0 AS absorbed, least(item.charge, hold.amount) AS paid
        FROM taken AS hold JOIN item USING (id)
      ), resolved AS (
        INSERT INTO transfers (id, opened_at, created_at, kind, debit, credit, amount, signup_amount,
          released, released_signup, pending_id, account_id, api_key_id, text_request_id)
        SELECT resolution_id, opened_at, moment, kind, 'reserved', credit, amount, resolved_signup,
          held - amount, signup_amount - resolved_signup, reservation_id, account_id, api_key_id, id
        FROM ended, LATERAL (
          SELECT 'settlement' AS kind, 'revenue' AS credit, paid AS amount, least(signup_amount, paid) AS resolved_signup
          WHERE paid > 0
          UNION ALL SELECT 'refund', 'available', held, signup_amount WHERE paid = 0) AS resolution
        WHERE reservation_id IS NOT NULL
      ), recorded AS (
        INSERT INTO text_requests (id, created_at, account_id, api_key_id, request_id, model, format, streamed, upstream,
          upstream_format, upstream_model, outcome, error_code, catalogue_version, modifiers, input_tokens,
          cache_read_tokens, cache_write_tokens, output_tokens, reasoning_tokens, estimated, held, charge, excess,
          absorbed, reservation_id, opened_at, latency_ms, first_byte_ms)
        SELECT id, created_at, account_id, api_key_id, request_id, model, format, streamed, upstream,
          upstream_format, upstream_model, outcome, error_code, catalogue_version, modifiers, input_tokens,
          cache_read_tokens, cache_write_tokens, output_tokens, reasoning_tokens, estimated, held, charge, excess,
          absorbed, reservation_id, opened_at, latency_ms, first_byte_ms
        FROM ended WHERE charge <= held
      )
      SELECT (SELECT array_agg(id) FROM item WHERE id NOT IN (SELECT id FROM ended)),
        (SELECT jsonb_agg(to_jsonb(ended)) FROM ended WHERE charge > held)
      INTO without_hold, overruns;

      IF true = ANY (gives_slots_back) THEN
        DELETE FROM text_free_slots AS slot
        USING unnest(account_ids, ids, gives_slots_back) AS ended(account_id, id, gives_slot_back)
        WHERE slot.account_id = ended.account_id AND slot.text_request_id = ended.id AND slot.text_request_id = ANY (ids)
          AND slot.account_id = ANY (account_ids) AND ended.gives_slot_back;
      END IF;
      FOR overrun IN SELECT value FROM jsonb_array_elements(overruns) LOOP
        INSERT INTO text_requests SELECT request.* FROM charge_beyond_hold(
          jsonb_populate_record(NULL::text_requests, overrun), (overrun->>'funded_only')::boolean,
          overrun->>'excess_id', overrun->>'absorbed_id') AS request;
      END LOOP;
      RETURN coalesce(without_hold, '{}');
    END $$;

    -- Ends a request that nothing is held for, unless it has ended by now: its process was taken for dead and came back, or
    -- the hold is lost. All of its charge is beyond the hold.
    CREATE FUNCTION settle_text_without_hold(item jsonb) RETURNS void LANGUAGE plpgsql AS $$
    DECLARE
      request text_requests := jsonb_populate_record(NULL::text_requests, item);
      earlier text_requests;
    BEGIN
      PERFORM FROM accounts WHERE id = request.account_id FOR NO KEY UPDATE;
      SELECT * INTO earlier FROM text_requests WHERE id = request.id AND created_at = request.created_at;
      IF earlier.outcome <> 'abandoned' THEN RETURN; END IF;
      request.held := 0;
      request.reservation_id := earlier.reservation_id;
      request.opened_at := earlier.opened_at;
      request := charge_beyond_hold(request, (item->>'funded_only')::boolean, item->>'excess_id', item->>'absorbed_id');
      IF earlier.id IS NULL THEN
        INSERT INTO text_requests SELECT request.*;
      ELSE
        UPDATE text_requests SET (upstream, upstream_format, upstream_model, outcome, error_code, modifiers,
            input_tokens, cache_read_tokens, cache_write_tokens, output_tokens, reasoning_tokens, calls, estimated, held, charge, excess,
            absorbed, latency_ms, first_byte_ms)
          = (request.upstream, request.upstream_format, request.upstream_model, request.outcome,
            request.error_code, request.modifiers, request.input_tokens, request.cache_read_tokens, request.cache_write_tokens, request.output_tokens,
            request.reasoning_tokens, request.calls, request.estimated, request.held, request.charge, request.excess,
            request.absorbed, request.latency_ms, request.first_byte_ms)
        WHERE id = request.id AND created_at = request.created_at;
      END IF;
    END $$;
  `);
}
