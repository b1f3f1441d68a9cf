import type { Knex } from 'knex';

/** Prices of media are kept for each edition of the catalogue, too, so that none changes under its version. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(/* sql */ `
    ALTER TABLE rate_cards ADD COLUMN kind text NOT NULL DEFAULT 'text' CHECK (kind IN ('text', 'video', 'image'));
    ALTER TABLE rate_cards ALTER COLUMN kind DROP DEFAULT;
  `);
}
