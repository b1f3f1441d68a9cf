import type { Knex } from 'knex';

/**
 * How many requests each key made in each minute, those that only read apart from the others, counted over all processes. Unlogged: after a crash of the database the
 * count of the current minute begins anew, which is all that is lost.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(/* sql */ `
    CREATE UNLOGGED TABLE request_windows (
      api_key_id text COLLATE "C" NOT NULL,
      window_start timestamptz NOT NULL,
      reads boolean NOT NULL,
      requests bigint NOT NULL,
      PRIMARY KEY (api_key_id, window_start, reads)
    ) WITH (fillfactor = 50);
    CREATE INDEX request_windows_by_age ON request_windows (window_start);
  `);
}
