import type { Knex } from 'knex';

/**
 * The files in storage: those that accounts uploaded, with the quota that bounds them, and those that are written for tasks.
 *
 * - The row of an upload is there before its object is, with as many bytes as may still arrive, and goes after its object
 *   has gone: what stands in storage is always counted. `stored_at` is null while the file arrives, `deleted_at` set once it
 *   is to go.
 * - `reserve_upload` is the only way to more bytes or files. It counts an account's rows under a lock of its own, so that
 *   uploads at the same time cannot exceed the quota together.
 * - `used_at` is the first time that a task was created with the file. An upload without it expires.
 * - The file of a result is noted before its first byte, so that what no task names in the end can be found and removed. Its
 *   row goes once the task is over and the file is either named by it or gone.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(/* sql */ `
    CREATE TABLE uploads (
      id text COLLATE "C" PRIMARY KEY CHECK (length(id) = 37 AND id ~ '^file_[0-9a-z]+$'),
      account_id text COLLATE "C" NOT NULL REFERENCES accounts,
      storage_key text NOT NULL,
      mime_type text NOT NULL,
      filename text CHECK (length(filename) <= 255),
      bytes bigint NOT NULL CHECK (bytes > 0),
      created_at timestamptz(3) NOT NULL,
      stored_at timestamptz,
      used_at timestamptz,
      deleted_at timestamptz
    );
    CREATE INDEX uploads_by_account ON uploads (account_id, id) INCLUDE (bytes);
    CREATE INDEX uploads_to_remove ON uploads (created_at) WHERE used_at IS NULL OR deleted_at IS NOT NULL;

    -- Makes room for an upload, or more of it: as much as \`wanted\` if the quota allows, at least \`needed\`. \`granted\` is how
    -- many bytes it may have in all, null when there is no room; \`kept_bytes\` and \`kept_files\` are those of the others.
    CREATE FUNCTION reserve_upload(upload jsonb, needed bigint, wanted bigint, max_bytes bigint, max_files bigint,
      OUT granted bigint, OUT kept_bytes bigint, OUT kept_files bigint)
    LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM pg_advisory_xact_lock(hashtextextended('uploads of ' || (upload->>'account_id'), 0));
      SELECT coalesce(sum(bytes), 0), count(*) INTO kept_bytes, kept_files FROM uploads
      WHERE account_id = upload->>'account_id' AND id <> upload->>'id';
      IF kept_files >= max_files OR kept_bytes + needed > max_bytes THEN RETURN; END IF;
      granted := least(wanted, max_bytes - kept_bytes);
      INSERT INTO uploads (id, account_id, storage_key, mime_type, filename, bytes, created_at)
      SELECT id, account_id, storage_key, mime_type, filename, granted, created_at
      FROM jsonb_populate_record(NULL::uploads, upload)
      ON CONFLICT (id) DO UPDATE SET bytes = EXCLUDED.bytes;
    END $$;

    CREATE TABLE result_files (
      key text PRIMARY KEY,
      task_id text NOT NULL,
      task_created_at timestamptz NOT NULL,
      created_at timestamptz NOT NULL DEFAULT now()
    );
    CREATE INDEX result_files_by_age ON result_files (created_at);
    CREATE INDEX result_files_by_task ON result_files (task_id);
  `);
}
