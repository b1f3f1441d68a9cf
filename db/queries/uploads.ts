/** Uploaded files: see `db/schema/0005-files.sql`. */
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
  readonly createdAt: Date;
}

/** A complete upload. */
export interface Upload extends NewUpload {
  readonly bytes: number;
  /** When a task first used the upload. */
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

/** Records that the file is in storage, with its actual size. */
export async function finishUpload(database: Database, { id, accountId }: NewUpload, bytes: number): Promise<void> {
  await database('uploads').where({ id, account_id: accountId }).update({ bytes, stored_at: database.fn.now() });
}

/** Deletes the row of an upload that has nothing in storage. */
export async function deleteUpload(database: Database, accountId: string, id: string): Promise<void> {
  await database('uploads').where({ id, account_id: accountId }).delete();
}

/** The account's uploads, newest first. @param before the id of the last upload on the previous page */
export async function listUploads(
  database: Database,
  { accountId, ...page }: IdPage & { readonly accountId: string },
): Promise<readonly Upload[]> {
  return (await newestFirst(present(database).where('account_id', accountId), page)).map(toUpload);
}

/** Finds an upload of the account by its id; null also for an upload of another account. */
export async function findUpload(database: Database, accountId: string, id: string): Promise<Upload | null> {
  if (!isId('file', id)) return null;
  const row = await present(database).where({ id, account_id: accountId }).first();
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
 * Claims uploads for removal: uploads that no task used within `unusedForSeconds`, uploads that no process receives any
 * more, and uploads whose removal failed.
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
        OR (deleted_at IS NULL AND used_at IS NULL AND created_at < now() -
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
