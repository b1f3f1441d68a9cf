-- The types and functions that every table uses: money, ids, and triggers that refuse changes.
--
-- - `pico_usd` is an amount of money. Its check refuses NaN explicitly: PostgreSQL sorts NaN above every number, so a
--   balance of NaN would pay for any price.
-- - `usage_count` is a number of tokens, seconds, searches and so on. PostgreSQL keeps the check of a domain in memory, but reads
--   that of a column anew for each statement.
-- - `id_created_at` reads the time in an id; `domain/ids.ts` makes ids.
-- - A trigger that refuses a change reports its name as the `constraint` of the error, like a CHECK.
--
-- Checks of ids test the length apart from the letters: a counted repetition in a regular expression costs several
-- times as much, and every transfer is checked four times.

-- Finds parts of names and addresses: https://www.postgresql.org/docs/current/pgtrgm.html
CREATE EXTENSION IF NOT EXISTS pg_trgm;

CREATE DOMAIN pico_usd AS numeric(38,0) CHECK (VALUE >= 0 AND VALUE <> 'NaN');
CREATE DOMAIN usage_count AS bigint CHECK (VALUE >= 0);

CREATE FUNCTION id_created_at(id text) RETURNS timestamptz LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT to_timestamp(sum(36::numeric ^ (10 - place)
    * (strpos('0123456789abcdefghijklmnopqrstuvwxyz', substr(split_part(id, '_', 2), place, 1)) - 1)) / 1000)
    ::timestamptz(3)
  FROM generate_series(1, 10) AS place
$$;

-- Sorts before every id of that kind from that time on, as firstIdAt in domain/ids.ts.
CREATE FUNCTION first_id_at(prefix text, moment timestamptz) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT prefix || string_agg(substr('0123456789abcdefghijklmnopqrstuvwxyz',
    (floor(extract(epoch FROM moment) * 1000 / 36::numeric ^ (10 - place)) % 36)::integer + 1, 1), '' ORDER BY place)
  FROM generate_series(1, 10) AS place
$$;

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% of % is refused by the rule %', TG_OP, TG_TABLE_NAME, TG_NAME
    USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = TG_NAME;
END $$;

-- The texts of files in `functions/` that were applied, by their digests; the latest of a file is in force.
CREATE TABLE applied_functions (
  name text COLLATE "C" NOT NULL,
  digest text COLLATE "C" NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (name, digest)
);
