-- The operator's cost of a text request, computed as `domain/pricing.ts` computes prices.

CREATE OR REPLACE FUNCTION text_cost_factor(tiers jsonb, peaks jsonb, prompt_tokens bigint, started_at timestamptz)
RETURNS numeric LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  modifier jsonb;
  local timestamp;
  minute int;
  product numeric := 1;
BEGIN
  FOR modifier IN SELECT value FROM jsonb_array_elements(tiers) LOOP
    IF prompt_tokens > (modifier->>'thresholdTokens')::bigint
      OR (modifier->>'applies' = 'at_or_over' AND prompt_tokens = (modifier->>'thresholdTokens')::bigint) THEN
      product := product * (modifier->>'factor')::numeric;
    END IF;
  END LOOP;
  FOR modifier IN SELECT value FROM jsonb_array_elements(peaks) LOOP
    local := started_at AT TIME ZONE 'UTC' + make_interval(mins => (modifier->>'utcOffsetMinutes')::int);
    minute := extract(hour FROM local) * 60 + extract(minute FROM local);
    IF modifier->'weekdays' @> to_jsonb(extract(dow FROM local)::int) AND EXISTS (
      SELECT FROM jsonb_array_elements(modifier->'windows') AS windows(span)
      WHERE (span->>'fromMinute')::int <= minute AND minute < (span->>'toMinute')::int) THEN
      product := product * (modifier->>'factor')::numeric;
    END IF;
  END LOOP;
  RETURN product;
END $$;

-- Null where the cost is unknown. Most costs have no factors, and are computed without a call. A request that failed costs what its
-- attempts cost, which have rows of their own.
CREATE OR REPLACE FUNCTION cost_of_text(request text_requests, rates text_costs) RETURNS numeric
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN request.outcome = 'failed' THEN 0 ELSE ((greatest(request.input_tokens - request.cache_read_tokens - request.cache_write_tokens,
    0) - request.audio_input_tokens + request.audio_cache_read_tokens) * rates.input
      + (request.cache_read_tokens - request.audio_cache_read_tokens) * rates.cached_input
      + (request.cache_write_tokens - request.cache_write_1h_tokens) * rates.cache_write
      + request.cache_write_1h_tokens * rates.cache_write_1h
      + (request.output_tokens - request.audio_output_tokens) * rates.output
      + (request.audio_input_tokens - request.audio_cache_read_tokens) * rates.audio_input
      + request.audio_cache_read_tokens * rates.cached_audio_input
      + request.audio_output_tokens * rates.audio_output
      + request.characters * rates."character"
      + request.audio_seconds * rates.audio_second
      + request.search_units * rates.search_unit)
    * CASE WHEN rates.tiers = '[]' AND rates.peaks = '[]' THEN 1
      ELSE text_cost_factor(rates.tiers, rates.peaks, request.input_tokens / request.calls, request.created_at) END
    * coalesce(request.cost_factor, 1)
    + request.web_searches * rates.web_search END
$$;
CREATE OR REPLACE FUNCTION cost_of_failed_attempt(attempt failed_text_attempts, rates text_costs) RETURNS numeric
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT ((greatest(attempt.input_tokens - attempt.cache_read_tokens - attempt.cache_write_tokens,
    0) - attempt.audio_input_tokens + attempt.audio_cache_read_tokens) * rates.input
      + (attempt.cache_read_tokens - attempt.audio_cache_read_tokens) * rates.cached_input
      + (attempt.cache_write_tokens - attempt.cache_write_1h_tokens) * rates.cache_write
      + attempt.cache_write_1h_tokens * rates.cache_write_1h
      + (attempt.output_tokens - attempt.audio_output_tokens) * rates.output
      + (attempt.audio_input_tokens - attempt.audio_cache_read_tokens) * rates.audio_input
      + attempt.audio_cache_read_tokens * rates.cached_audio_input
      + attempt.audio_output_tokens * rates.audio_output
      + attempt.characters * rates."character"
      + attempt.audio_seconds * rates.audio_second
      + attempt.search_units * rates.search_unit)
    * CASE WHEN rates.tiers = '[]' AND rates.peaks = '[]' THEN 1
      ELSE text_cost_factor(rates.tiers, rates.peaks, attempt.input_tokens, attempt.created_at) END
    + attempt.web_searches * rates.web_search
$$;
