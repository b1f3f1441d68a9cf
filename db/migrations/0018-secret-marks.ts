import type { Knex } from 'knex';

/** By what a process knows, at its start, whether it has the secrets with which the database was written. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(/* sql */ `
    CREATE TABLE secret_marks (
      name text PRIMARY KEY CHECK (name IN ('encryption_key', 'key_pepper')),
      mark bytea NOT NULL
    );
  `);
}
