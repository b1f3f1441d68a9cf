import type { Knex } from 'knex';

/**
 * Which life of the database server this is. A crash empties unlogged tables, on this server and on the one that takes its
 * place, so whoever finds the id from before knows that nothing that was committed since is lost.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(/* sql */ `
    CREATE UNLOGGED TABLE server_life (
      is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
      id uuid NOT NULL DEFAULT gen_random_uuid()
    );
  `);
}
