import type { Knex } from 'knex';

/**
 * Which version of the operator's files each process went by and since when, and which it refused and why. Rows are only ever
 * added.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(/* sql */ `
    CREATE TABLE configurations (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      process text NOT NULL CHECK (process <> ''),
      -- SHA-256 over both files.
      digest text NOT NULL,
      -- Null where the catalogue could not be read.
      catalogue_version text,
      -- Null where the files were taken up.
      refusal text,
      created_at timestamptz NOT NULL DEFAULT now(),
      CONSTRAINT configurations_have_a_version CHECK (catalogue_version IS NOT NULL OR refusal IS NOT NULL)
    );
    CREATE TRIGGER configurations_are_kept BEFORE UPDATE OR DELETE ON configurations
      FOR EACH ROW EXECUTE FUNCTION refuse_change();
    CREATE TRIGGER configurations_not_truncated BEFORE TRUNCATE ON configurations
      FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
  `);
}
