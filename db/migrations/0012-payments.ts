import type { Knex } from 'knex';

/**
 * Payments that a payment provider announces are top-ups whose reference is `payment:` and the payment's own id. Such a
 * payment credits one account once, whatever several events say of it.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(/* sql */ `
    CREATE UNIQUE INDEX top_ups_one_per_payment ON top_ups (reference) WHERE reference LIKE 'payment:%'
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP INDEX top_ups_one_per_payment');
}
