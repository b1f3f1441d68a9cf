import type { Knex } from 'knex';

/**
 * What text costs the operator at each upstream, for each edition of the catalogue, in pico-USD a token. Together with the tokens
 * of each request it says what the request cost; nothing has to be computed while requests are served.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(/* sql */ `
    CREATE TABLE text_costs (
      version text NOT NULL,
      model text NOT NULL,
      upstream text NOT NULL,
      upstream_model text NOT NULL,
      input pico_usd NOT NULL,
      cached_input pico_usd NOT NULL,
      cache_write pico_usd NOT NULL,
      output pico_usd NOT NULL,
      created_at timestamptz NOT NULL DEFAULT now(),
      PRIMARY KEY (version, model, upstream, upstream_model)
    );
    CREATE TRIGGER text_costs_are_kept BEFORE UPDATE OR DELETE ON text_costs
      FOR EACH ROW EXECUTE FUNCTION refuse_change();
    CREATE TRIGGER text_costs_not_truncated BEFORE TRUNCATE ON text_costs
      FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
  `);
}
