import type { Knex } from 'knex';

/**
 * Files that are written for tasks, each noted before its first byte, so that what no task names in the end can be found and
 * removed. Rows go once their task is over and the file is either named by it or gone.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(/* sql */ `
    CREATE TABLE result_files (
      key text PRIMARY KEY,
      task_id text NOT NULL,
      task_created_at timestamptz NOT NULL,
      created_at timestamptz NOT NULL DEFAULT now()
    );
    CREATE INDEX result_files_by_age ON result_files (created_at);
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('DROP TABLE result_files');
}
