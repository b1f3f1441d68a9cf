/** Uploaded files: see `db/schema/0005-files.sql`. */
import type { FilePurpose } from '../../domain/file-purpose.ts';
import { isId } from '../../domain/ids.ts';
import { type Database, onlyRow } from '../database.ts';
import { type IdPage, newestFirst } from '../page.ts';
import { camelCased, columnsOf, readRow, type RowOf } from '../row.ts';

/** An upload that is starting. */
export interface NewUpload {
  readonly id: string;
  readonly accountId: string;
  readonly storageKey: string;
  readonly mimeType: string;
  readonly filename: string | null;
  readonly purpose: FilePurpose;
  readonly createdAt: Date;
  /** When a file of a batch is removed. Null for inputs of media tasks, which expire if no task uses them. */
  readonly expiresAt: Date | null;
}

/** A complete upload. */
export interface Upload extends NewUpload {
  readonly bytes: number;
  /** The number of lines of a batch's file; null for other files. */
  readonly lines: number | null;
  /** When a task or batch first used the upload. */
  readonly usedAt: Date | null;
}

/** The limits on what an account may keep. */
export interface UploadQuota {
  readonly bytes: number;
  readonly files: number;
}

/** The bytes granted to an upload, or the current usage of an account without enough space. */
export type UploadGrant =
  | { readonly granted: number }
  | { readonly granted: null; readonly keptBytes: number; readonly keptFiles: number };

/** An upload to be removed from storage. */
export interface UploadToRemove {
  readonly id: string;
  readonly storageKey: string;
}

type UploadRow = RowOf<Upload, 'bytes'> & { readonly stored_at: Date | null; readonly deleted_at: Date | null };

/** Removing an object takes seconds. A removal that started so long ago has failed. */
const REMOVAL_SECONDS = 300;
/** Longer than any upload takes. After this, the process that received the upload has died. */
const ABANDONED_SECONDS = 3_600;

/** Reserves space for an upload that starts or grows: `wanted` bytes if the quota allows, at least `needed`. */
export async function reserveUpload(
  database: Database,
  upload: NewUpload,
  { needed, wanted }: { readonly needed: number; readonly wanted: number },
  quota: UploadQuota,
): Promise<UploadGrant> {
  const { rows } = await database.raw<{ rows: { granted: string | null; kept_bytes: string; kept_files: string }[] }>(
    'SELECT * FROM reserve_upload(:upload::jsonb, :needed, :wanted, :maxBytes, :maxFiles)',
    { upload: JSON.stringify(columnsOf(upload)), needed, wanted, maxBytes: quota.bytes, maxFiles: quota.files },
  );
  const row = onlyRow(rows);
  if (row.granted !== null) return { granted: Number(row.granted) };
  return { granted: null, keptBytes: Number(row.kept_bytes), keptFiles: Number(row.kept_files) };
}

/**
 * Records an output file that is about to be written, without a quota.
 *
 * @returns the file as an earlier attempt to write it recorded it, if there was one
 */
export async function startOutput(
  database: Database,
  output: NewUpload,
): Promise<{ readonly upload: Upload; readonly isComplete: boolean }> {
  const { rows } = await database.raw<{ rows: UploadRow[] }>(
    /* sql */ `
    INSERT INTO uploads (id, account_id, storage_key, mime_type, filename, bytes, purpose, created_at, expires_at)
    SELECT id, account_id, storage_key, mime_type, filename, 1, purpose, created_at, expires_at
    FROM jsonb_populate_record(NULL::uploads, :output::jsonb)
    ON CONFLICT (id) DO UPDATE SET created_at = CASE
      WHEN uploads.stored_at IS NULL THEN EXCLUDED.created_at ELSE uploads.created_at END
    WHERE uploads.account_id = EXCLUDED.account_id
    RETURNING *`,
    { output: JSON.stringify(columnsOf(output)) },
  );
  const row = onlyRow(rows);
  return { upload: toUpload(row), isComplete: row.stored_at !== null };
}

/** Records that the file is in storage, with its actual size. @param lines of a file of a batch */
export async function finishUpload(
  database: Database,
  { id, accountId }: NewUpload,
  bytes: number,
  lines: number | null = null,
): Promise<void> {
  await database('uploads').where({ id, account_id: accountId }).update({ bytes, lines, stored_at: database.fn.now() });
}

/** Deletes the row of an upload that has nothing in storage. */
export async function deleteUpload(database: Database, accountId: string, id: string): Promise<void> {
  await database('uploads').where({ id, account_id: accountId }).delete();
}

/**
 * The account's uploads, newest first.
 *
 * @param before the id of the last upload on the previous page @param purpose all purposes if undefined
 */
export async function listUploads(
  database: Database,
  { accountId, purpose, ...page }: IdPage & { readonly accountId: string; readonly purpose?: FilePurpose | undefined },
): Promise<readonly Upload[]> {
  const uploads = present(database).where({ account_id: accountId, ...(purpose !== undefined && { purpose }) });
  return (await newestFirst(uploads, page)).map(toUpload);
}

/** Finds an upload of the account by its id; null also for an upload of another account. */
export async function findUpload(database: Database, accountId: string, id: string): Promise<Upload | null> {
  if (!isId('file', id)) return null;
  const row = await present(database).where({ id, account_id: accountId }).first();
  return row ? toUpload(row) : null;
}

/**
 * Claims the input file of a new batch, so that the file outlives the batch.
 *
 * @param expiresAt the earliest time at which the file may be removed
 * @returns null if the account has no such input file
 */
export async function claimBatchInput(
  database: Database,
  { accountId, fileId, expiresAt }: { readonly accountId: string; readonly fileId: string; readonly expiresAt: Date },
): Promise<Upload | null> {
  if (!isId('file', fileId)) return null;
  const [row] = await present(database)
    .where({ id: fileId, account_id: accountId, purpose: 'batch' })
    .update({
      used_at: database.raw('coalesce(used_at, now())'),
      expires_at: database.raw('greatest(expires_at, :expiresAt)', { expiresAt }),
    })
    .returning('*');
  return row ? toUpload(row) : null;
}

/** Hides uploads of the account, and marks them for removal. @param onlyUnused keeps the uploads that a task used */
export async function markUploadsDeleted(
  database: Database,
  accountId: string,
  ids: readonly string[],
  { onlyUnused = false }: { readonly onlyUnused?: boolean } = {},
): Promise<readonly UploadToRemove[]> {
  const rows = await present(database)
    .whereIn(
      'id',
      ids.filter((id) => isId('file', id)),
    )
    .where({ account_id: accountId, ...(onlyUnused && { used_at: null }) })
    .update({ deleted_at: database.fn.now() })
    .returning(['id', 'storage_key']);
  return rows.map(camelCased);
}

/**
 * Claims uploads for removal: uploads that no task used within `unusedForSeconds`, files of batches that have expired,
 * uploads that no process receives any more, and uploads whose removal failed.
 */
export async function claimUploadsToRemove(
  database: Database,
  { unusedForSeconds, limit }: { readonly unusedForSeconds: number; readonly limit: number },
): Promise<readonly UploadToRemove[]> {
  const { rows } = await database.raw<{ rows: Pick<UploadRow, 'id' | 'storage_key'>[] }>(
    /* sql */ `
    WITH due AS MATERIALIZED (
      SELECT id FROM uploads
      WHERE deleted_at < now() - make_interval(secs => :removal)
        OR (deleted_at IS NULL AND stored_at IS NOT NULL AND expires_at < now())
        OR (deleted_at IS NULL AND used_at IS NULL AND (stored_at IS NULL OR expires_at IS NULL) AND created_at < now() -
          CASE WHEN stored_at IS NULL THEN make_interval(secs => :abandoned) ELSE make_interval(secs => :unused) END)
      ORDER BY created_at LIMIT :limit FOR UPDATE SKIP LOCKED)
    UPDATE uploads SET deleted_at = now() FROM due WHERE uploads.id = due.id
    RETURNING uploads.id, uploads.storage_key`,
    { removal: REMOVAL_SECONDS, abandoned: ABANDONED_SECONDS, unused: unusedForSeconds, limit },
  );
  return rows.map(camelCased);
}

/** Deletes the rows of uploads that were removed from storage. */
export async function deleteRemovedUploads(database: Database, ids: readonly string[]): Promise<void> {
  await database('uploads').whereIn('id', ids).whereNotNull('deleted_at').delete();
}

function present(database: Database) {
  return database<UploadRow>('uploads').whereNotNull('stored_at').whereNull('deleted_at');
}

function toUpload(row: UploadRow): Upload {
  return readRow(row, { counts: ['bytes'] });
}
