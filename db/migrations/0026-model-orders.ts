import type { Knex } from 'knex';

/**
 * What operators ordered of models, by whom and why: to be refused, and to be sold again. The newest order of a model counts.
 * Rows are only ever added.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(/* sql */ `
    CREATE TABLE model_orders (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      model text NOT NULL CHECK (model <> ''),
      kind text NOT NULL CHECK (kind IN ('disable', 'enable')),
      author text NOT NULL CHECK (author <> ''),
      reason text NOT NULL CHECK (reason <> ''),
      created_at timestamptz NOT NULL DEFAULT now()
    );
    CREATE INDEX model_orders_by_model ON model_orders (model, id DESC);
    CREATE TRIGGER model_orders_are_kept BEFORE UPDATE OR DELETE ON model_orders
      FOR EACH ROW EXECUTE FUNCTION refuse_change();
    CREATE TRIGGER model_orders_not_truncated BEFORE TRUNCATE ON model_orders
      FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
  `);
}
