import type { Knex } from 'knex';

/**
 * Indexes of what failed and of what was given back, which hold all that pages about it add up. What succeeds is in none of them,
 * so that it is written as fast as before.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(/* sql */ `
    CREATE INDEX transfers_refunds_by_time ON transfers (created_at)
      INCLUDE (account_id, amount, task_id, text_request_id, opened_at) WHERE kind = 'refund';
    CREATE INDEX tasks_failed ON tasks (id) INCLUDE (created_at, error_code) WHERE status = 'failed';
    CREATE INDEX text_requests_failed ON text_requests (id) INCLUDE (created_at, error_code, outcome)
      WHERE outcome <> 'succeeded';
  `);
}
