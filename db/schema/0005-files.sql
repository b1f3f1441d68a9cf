-- The files in storage: uploads of accounts, with their quota, and files that steps write for tasks.
--
-- - The row of an upload exists before its object, with as many bytes as may still arrive, and is deleted after its
--   object, so that every object in storage is counted. `stored_at` is null while the file arrives. `deleted_at` marks
--   the file for deletion.
-- - Only `reserve_upload` adds bytes or files. It counts an account's rows under a separate lock, so that concurrent
--   uploads cannot exceed the quota together.
-- - `used_at` is when a task or batch was first created with the file. An upload that no task uses expires.
-- - The input and the output files of a batch have a purpose of their own and expire at a fixed time. The service writes
--   the output, so that output counts towards no quota.
-- - The file of a result is recorded before its first byte, so that a file that no task names in the end can be found
--   and deleted. Its row is deleted when the task is final and the file is either named by the task or deleted.
-- - A task whose customer deleted the files is recorded before they are deleted, so that they do not count as lost.

CREATE TABLE uploads (
  id text COLLATE "C" PRIMARY KEY CHECK (length(id) = 37 AND id ~ '^file_[0-9a-z]+$'),
  account_id text COLLATE "C" NOT NULL REFERENCES accounts,
  storage_key text NOT NULL,
  mime_type text NOT NULL,
  filename text CHECK (length(filename) <= 255),
  bytes bigint NOT NULL CHECK (bytes > 0),
  purpose text NOT NULL CHECK (purpose IN ('user_data', 'batch', 'batch_output')),
  lines integer CHECK (lines > 0),
  created_at timestamptz(3) NOT NULL,
  expires_at timestamptz(3),
  stored_at timestamptz,
  used_at timestamptz,
  deleted_at timestamptz,
  CONSTRAINT uploads_of_batches_expire CHECK ((purpose = 'user_data') = (expires_at IS NULL)),
  CONSTRAINT uploads_of_batches_have_lines CHECK (
    CASE purpose WHEN 'user_data' THEN lines IS NULL ELSE stored_at IS NULL OR lines IS NOT NULL END)
);
CREATE INDEX uploads_by_account ON uploads (account_id, id) INCLUDE (bytes, purpose);
CREATE INDEX uploads_to_remove ON uploads (created_at) WHERE used_at IS NULL OR deleted_at IS NOT NULL;
CREATE INDEX uploads_to_expire ON uploads (expires_at) WHERE expires_at IS NOT NULL;

-- Reserves room for an upload, or more room: as much as "wanted" if the quota allows, at least "needed". "granted" is
-- how many bytes the upload may have in all, null if there is no room; "kept_bytes" and "kept_files" count the
-- account's other uploads.
CREATE FUNCTION reserve_upload(upload jsonb, needed bigint, wanted bigint, max_bytes bigint, max_files bigint,
  OUT granted bigint, OUT kept_bytes bigint, OUT kept_files bigint)
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('uploads of ' || (upload->>'account_id'), 0));
  SELECT coalesce(sum(bytes), 0), count(*) INTO kept_bytes, kept_files FROM uploads
  WHERE account_id = upload->>'account_id' AND id <> upload->>'id' AND purpose <> 'batch_output';
  IF kept_files >= max_files OR kept_bytes + needed > max_bytes THEN RETURN; END IF;
  granted := least(wanted, max_bytes - kept_bytes);
  INSERT INTO uploads (id, account_id, storage_key, mime_type, filename, bytes, purpose, created_at, expires_at)
  SELECT id, account_id, storage_key, mime_type, filename, granted, purpose, created_at, expires_at
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

CREATE TABLE deleted_results (
  task_id text COLLATE "C" PRIMARY KEY,
  deleted_at timestamptz NOT NULL DEFAULT now()
);
