import type { Knex } from 'knex';

/** Reports of reconciliations. A row without an end is one that is under way, or whose worker died; it is made again then. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(/* sql */ `
    CREATE TABLE reconciliations (
      id text COLLATE "C" PRIMARY KEY CHECK (length(id) = 36 AND id ~ '^rec_[0-9a-z]+$'),
      requested_by text NOT NULL CHECK (requested_by IN ('schedule', 'operator')),
      created_at timestamptz(3) NOT NULL DEFAULT now(),
      finished_at timestamptz(3),
      checks jsonb,
      findings jsonb,
      CONSTRAINT reconciliations_end_with_a_report CHECK (num_nulls(finished_at, checks, findings) IN (0, 3))
    );
  `);
}
