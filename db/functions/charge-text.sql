-- Slots for free models, and charges above a hold.

-- Reserves one of an account's slots for free models, and deletes slots older than a minute; called under the lock of the
-- account. A request reserves one slot, however often it asks. Returns null, or the whole seconds until a slot is free if
-- there is none.
CREATE OR REPLACE FUNCTION reserve_free_slot(taker_account_id text, taker_id text, moment timestamptz, slots integer)
RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  taken integer;
  oldest timestamptz;
BEGIN
  PERFORM FROM text_free_slots WHERE account_id = taker_account_id AND text_request_id = taker_id;
  IF FOUND THEN RETURN NULL; END IF;
  DELETE FROM text_free_slots WHERE account_id = taker_account_id AND taken_at <= moment - interval '1 minute';
  SELECT count(*), min(taken_at) INTO taken, oldest FROM text_free_slots WHERE account_id = taker_account_id;
  IF taken >= slots THEN
    RETURN greatest(1, ceil(extract(epoch FROM oldest + interval '1 minute' - moment)));
  END IF;
  INSERT INTO text_free_slots (account_id, text_request_id, taken_at) VALUES (taker_account_id, taker_id, moment);
  RETURN NULL;
END $$;

-- Charges the cost of a request above its hold to the account, as far as the account, the limit of the key and the budgets
-- allow, and records the rest as absorbed; called under the lock of the account. The transfers get the time of
-- the charge, so that all of them are one entry of the account's balance. Their ids are made from the id of the charge: the
-- same time, and 88 bits of a hash.
CREATE OR REPLACE FUNCTION charge_beyond_hold(INOUT request text_requests, funded_only boolean, charge_id text,
  moment timestamptz)
LANGUAGE plpgsql AS $$
DECLARE
  beyond numeric := greatest(request.charge - request.held, 0);
  payable numeric := beyond;
  signup_part numeric;
  used_key api_keys;
  budget_ids text[];
  budget budgets;
BEGIN
  -- Only charges and holds change what counts towards the limit, under the lock of the account.
  SELECT * INTO used_key FROM api_keys WHERE id = request.api_key_id AND account_id = request.account_id;
  IF is_period_over(used_key, moment) THEN used_key := renew_period(used_key.id, moment); END IF;
  IF used_key.usage_limit IS NOT NULL THEN
    payable := least(beyond, greatest(used_key.usage_limit - used_in_period(used_key, moment), 0));
  END IF;
  budget_ids := budgets_of(request.account_id, request.end_user, request.model);
  budget := tightest_budget(budget_ids, request.account_id, moment);
  IF budget.id IS NOT NULL THEN payable := least(payable, greatest(budget.usage_limit - budget.used, 0)); END IF;
  SELECT least(signup_left, payable), least(funded_available + signup_left, payable)
  INTO STRICT signup_part, request.excess
  FROM accounts, LATERAL (SELECT CASE WHEN charge_beyond_hold.funded_only THEN 0
    ELSE signup_available - CASE WHEN has_promo THEN expired_promo(accounts.id) ELSE 0 END END) AS spendable(signup_left)
  WHERE id = request.account_id;
  request.absorbed := beyond - request.excess;
  PERFORM count_towards_budgets(budget_ids, request.excess);
  INSERT INTO transfers (id, opened_at, created_at, kind, debit, credit, amount, signup_amount,
    account_id, api_key_id, text_request_id)
  SELECT left(charge_id, -22) || left(md5(charge_id || part.kind), 22), moment, moment, part.kind, part.debit,
    'revenue', part.amount, part.signup_amount,
    request.account_id, request.api_key_id, request.id
  FROM (VALUES ('excess', 'available', request.excess, signup_part),
    ('absorbed_loss', 'absorbed_loss', request.absorbed, 0::numeric)) AS part(kind, debit, amount, signup_amount)
  WHERE part.amount > 0;
END $$;
