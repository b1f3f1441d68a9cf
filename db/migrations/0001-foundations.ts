/**
 * The types and functions that every table uses: money, ids, and triggers that refuse changes.
 *
 * - `pico_usd` is an amount of money. Its check refuses NaN explicitly: PostgreSQL sorts NaN above every number, so a
 *   balance of NaN would pay for any price.
 * - `id_created_at` reads the time in an id; `domain/ids.ts` makes ids.
 * - A trigger that refuses a change reports its name as the `constraint` of the error, like a CHECK.
 *
 * Checks of ids test the length apart from the letters: a counted repetition in a regular expression costs several
 * times as much, and every transfer is checked four times.
 */
export const FOUNDATIONS = /* sql */ `
-- Finds parts of names and addresses: https://www.postgresql.org/docs/current/pgtrgm.html
CREATE EXTENSION IF NOT EXISTS pg_trgm;

CREATE DOMAIN pico_usd AS numeric(38,0) CHECK (VALUE >= 0 AND VALUE <> 'NaN');

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
`;

/** A constraint that restricts a column to the values, or null. */
export function oneOf(column: string, values: readonly string[]): string {
  return `CHECK (${column} IN (${quoted(values)}))`;
}

/** Quotes texts as a list for IN and ARRAY. */
export function quoted(values: readonly string[]): string {
  return values.map((value) => `'${value}'`).join(', ');
}

/** Refuses UPDATE, DELETE and TRUNCATE: rows are only added. @param rule the name that an error reports */
export function appendOnly(table: string, rule = `${table}_are_kept`): string {
  return refuse(table, rule, 'UPDATE OR DELETE');
}

/** Refuses DELETE and TRUNCATE. */
export function forbidDelete(table: string): string {
  return refuse(table, `${table}_are_kept`, 'DELETE');
}

function refuse(table: string, rule: string, changes: string): string {
  return /* sql */ `CREATE TRIGGER ${rule} BEFORE ${changes} ON ${table} FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER ${table}_not_truncated BEFORE TRUNCATE ON ${table} FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();`;
}
