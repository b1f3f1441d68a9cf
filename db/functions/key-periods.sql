-- The periods of keys whose limit renews. `used_before` is the used amount when the period started. A period starts
-- with its first use, so that no job has to run at midnight.
--
-- - Money in allowances of text processes counts towards the new period.
-- - A refund of a task from an earlier period does not reduce the use of this one: `move_balances` subtracts the refund
--   from `used_before`, too.

-- Returns the money of a key in the allowances of text processes.
CREATE OR REPLACE FUNCTION held_by_allowances(key api_keys) RETURNS numeric LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN (SELECT coalesce(sum(amount), 0) FROM text_allowances
    WHERE account_id = key.account_id AND api_key_id = key.id);
END $$;

CREATE OR REPLACE FUNCTION period_end(period text, moment timestamptz) RETURNS timestamptz LANGUAGE sql IMMUTABLE AS $$
  SELECT (date_trunc(period, moment AT TIME ZONE 'UTC') + ('1 ' || period)::interval) AT TIME ZONE 'UTC'
$$;

-- Whether the key was not used yet in its current period.
CREATE OR REPLACE FUNCTION is_period_over(key api_keys, moment timestamptz) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT coalesce(key.period_since < date_trunc(key.limit_period, moment, 'UTC'), false)
$$;

-- Returns the amount that counts towards the limit of a key.
CREATE OR REPLACE FUNCTION used_in_period(key api_keys, moment timestamptz) RETURNS numeric LANGUAGE sql STABLE AS $$
  SELECT CASE
    WHEN key.limit_period IS NULL THEN key.used
    WHEN is_period_over(key, moment) THEN held_by_allowances(key)
    ELSE greatest(key.used - key.used_before, 0)
  END
$$;

-- Starts the period that contains the moment; called under the lock of the key.
CREATE OR REPLACE FUNCTION renew_period(key_id text, moment timestamptz) RETURNS api_keys LANGUAGE sql AS $$
  UPDATE api_keys SET used_before = used - held_by_allowances(api_keys),
    period_since = date_trunc(limit_period, moment, 'UTC')
  WHERE id = key_id RETURNING *
$$;
