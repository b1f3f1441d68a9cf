import type { Knex } from 'knex';

/**
 * What one person moved by hand, without a second one who approved it: kept to add up what is moved for an account within a
 * day, so that a large amount is not split into small ones. `id` is the transfer, or the
 * grant of promo credit; `amount` is what was given, or taken.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(/* sql */ `
    CREATE TABLE moved_alone (
      id text COLLATE "C" PRIMARY KEY,
      account_id text COLLATE "C" NOT NULL REFERENCES accounts,
      amount pico_usd NOT NULL CHECK (amount > 0),
      author text NOT NULL CHECK (author <> ''),
      created_at timestamptz NOT NULL DEFAULT clock_timestamp()
    );
    CREATE INDEX moved_alone_lately ON moved_alone (account_id, created_at);
    CREATE TRIGGER moved_alone_is_kept BEFORE UPDATE OR DELETE ON moved_alone
      FOR EACH ROW EXECUTE FUNCTION refuse_change();
    CREATE TRIGGER moved_alone_not_truncated BEFORE TRUNCATE ON moved_alone
      FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
  `);
}
