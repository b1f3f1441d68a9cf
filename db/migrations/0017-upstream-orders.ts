import type { Knex } from 'knex';

/**
 * What operators ordered of upstreams, by whom and why: to be left alone for a while, and to be asked again. The newest order
 * of an upstream counts. Rows are only ever added.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(/* sql */ `
    CREATE TABLE upstream_orders (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      upstream text NOT NULL CHECK (upstream <> ''),
      kind text NOT NULL CHECK (kind IN ('rest', 'resume')),
      -- Until when the upstream rests.
      until timestamptz,
      author text NOT NULL CHECK (author <> ''),
      reason text NOT NULL CHECK (reason <> ''),
      created_at timestamptz NOT NULL DEFAULT now(),
      CONSTRAINT upstream_orders_rests_end CHECK ((kind = 'rest') = (until IS NOT NULL))
    );
    CREATE INDEX upstream_orders_by_upstream ON upstream_orders (upstream, id DESC);
    CREATE TRIGGER upstream_orders_are_kept BEFORE UPDATE OR DELETE ON upstream_orders
      FOR EACH ROW EXECUTE FUNCTION refuse_change();
    CREATE TRIGGER upstream_orders_not_truncated BEFORE TRUNCATE ON upstream_orders
      FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
  `);
}
