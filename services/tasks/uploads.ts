/** Keeps uploaded files within the quota of their account. */
import type { Database } from '../../db/database.ts';
import type { Caller } from '../../db/queries/api-keys.ts';
import {
  finishUpload,
  deleteRemovedUploads,
  deleteUpload,
  markUploadsDeleted,
  type NewUpload,
  reserveUpload,
  type UploadGrant,
  type Upload,
  type UploadQuota,
} from '../../db/queries/uploads.ts';
import { ServiceError } from '../../domain/errors.ts';
import { createdAtMsOf, isId, newId } from '../../domain/ids.ts';
import type { RenderInputs } from '../../domain/task.ts';
import { UPLOADS } from '../../domain/policy.ts';
import type { FileType } from '../../storage/file-type.ts';
import { StorageFailedError, type Storage } from '../../storage/storage.ts';
import { batchFileExpiry, privateKeyOf } from '../batches/stored-file.ts';

export interface UploadLimits {
  readonly neverToppedUp: UploadQuota;
  readonly toppedUp: UploadQuota;
  /** An upload that no task uses is deleted after this long. */
  readonly expiryMs: number;
}

/** An incoming file. */
export interface ArrivingFile {
  readonly type: Pick<FileType, 'extension' | 'mimeType' | 'maxBytes'>;
  /** The client's file name, without a path. */
  readonly filename: string | null;
  readonly body: AsyncIterable<Uint8Array>;
  /** The maximum size of the file, if the client announced a length. */
  readonly announcedBytes: number | null;
  /** Present for the input of a batch, which is private: the number of lines of the body, once it has been read. */
  readonly lines?: { readonly count: number };
}

export interface Uploads {
  /**
   * Streams a file into storage. Its space is reserved before it arrives, so that concurrent uploads respect the quota
   * too.
   *
   * @throws ServiceError 403 `forbidden` when the account has reached its quota; 503 `processing_unavailable` when the store cannot be written
   * @throws ObjectTooLargeError when more bytes arrive than the file's type allows
   */
  store(caller: Caller, file: ArrivingFile): Promise<Upload>;
  /**
   * Removes uploads from storage and from their account.
   *
   * @param options.onlyUnused keeps the uploads that a task used
   * @returns false if the account has none of them
   */
  remove(accountId: string, ids: readonly string[], options?: { readonly onlyUnused: boolean }): Promise<boolean>;
}

/** A file of unknown length gets this much space at first, which is doubled as needed. */
const FIRST_ROOM_BYTES = 2 ** 20;
const BYTES_PER_MB = 2 ** 20;
const KEY_PATTERN = /^uploads\/(file_[0-9a-z]+)\.[a-z0-9]+$/;

export function createUploads(database: Database, storage: Storage, limits: UploadLimits): Uploads {
  /** If this fails, the sweep finds the upload by its row and removes it. */
  async function giveUp({ id, accountId, storageKey }: NewUpload): Promise<void> {
    try {
      await storage.delete(storageKey);
      await deleteUpload(database, accountId, id);
    } catch {
      // The original failure is reported.
    }
  }

  return {
    async store({ account }, file) {
      const { type, body, announcedBytes } = file;
      const quota = account.toppedUpAt === null ? limits.neverToppedUp : limits.toppedUp;
      const upload = newUpload(account.id, file);
      const reserve = async (needed: number, wanted: number): Promise<number> => {
        const grant = await reserveUpload(database, upload, { needed, wanted }, quota);
        if (grant.granted === null) throw quotaExceeded(grant, quota, account.toppedUpAt !== null);
        return grant.granted;
      };
      const atMost = (bytes: number): number => Math.min(bytes, type.maxBytes);
      const granted =
        announcedBytes === null
          ? await reserve(1, FIRST_ROOM_BYTES)
          : await reserve(atMost(announcedBytes), atMost(announcedBytes));
      const growing = withRoom(body, granted, (bytes) => reserve(atMost(bytes), atMost(bytes * 2)));
      try {
        const options = { contentType: type.mimeType, maxBytes: type.maxBytes };
        const { bytes } = await storage.put(upload.storageKey, growing, options);
        const lines = file.lines?.count ?? null;
        await finishUpload(database, upload, bytes, lines);
        return { ...upload, bytes, lines, usedAt: null };
      } catch (error) {
        await giveUp(upload);
        throw error instanceof StorageFailedError ? storeUnavailable(error) : error;
      }
    },

    async remove(accountId, ids, options) {
      const marked = await markUploadsDeleted(database, accountId, ids, options);
      if (marked.length === 0) return false;
      await Promise.all(marked.map(({ storageKey }) => storage.delete(storageKey)));
      await deleteRemovedUploads(
        database,
        marked.map(({ id }) => id),
      );
      return true;
    },
  };
}

const STORE_RETRY_SECONDS = 5;

function storeUnavailable(cause: StorageFailedError): ServiceError {
  const message = 'The file cannot be stored at the moment. Send it again later.';
  return new ServiceError('processing_unavailable', message, { retryAfterSeconds: STORE_RETRY_SECONDS, cause });
}

/** The uploads among the links of a request. */
export function uploadsIn(
  {
    images = [],
    referenceVideos = [],
    referenceAudios = [],
    parameterLinks = [],
  }: Pick<RenderInputs, 'images' | 'referenceVideos' | 'referenceAudios' | 'parameterLinks'>,
  storage: Pick<Storage, 'keyOf'>,
): readonly string[] {
  const ids = [...images, ...referenceVideos, ...referenceAudios, ...parameterLinks].map(
    (link) => KEY_PATTERN.exec(storage.keyOf(link) ?? '')?.[1] ?? '',
  );
  return [...new Set(ids)].filter((id) => isId('file', id));
}

function newUpload(accountId: string, { type, filename, lines }: ArrivingFile): NewUpload {
  const id = newId('file');
  const createdAt = new Date(createdAtMsOf('file', id));
  const forBatch = lines !== undefined;
  return {
    id,
    accountId,
    storageKey: forBatch ? privateKeyOf(id) : `uploads/${id}.${type.extension}`,
    mimeType: type.mimeType,
    filename: filename === null ? null : storableName(filename),
    purpose: forBatch ? 'batch' : 'user_data',
    createdAt,
    expiresAt: forBatch ? batchFileExpiry(createdAt) : null,
  };
}

/** PostgreSQL cannot store NUL, or half a surrogate pair that cutting may leave. */
function storableName(filename: string): string {
  return filename.slice(0, UPLOADS.maxFilenameLength).replace(/[\0\p{Cs}]/gu, '');
}

/** Reserves more space as soon as the file needs it, before that part is stored. */
async function* withRoom(
  body: AsyncIterable<Uint8Array>,
  granted: number,
  grow: (bytes: number) => Promise<number>,
): AsyncGenerator<Uint8Array> {
  let room = granted;
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes > room) room = await grow(bytes);
    yield chunk;
  }
}

function quotaExceeded(
  { keptBytes, keptFiles }: Extract<UploadGrant, { granted: null }>,
  quota: UploadQuota,
  isToppedUp: boolean,
): ServiceError {
  const remedy = isToppedUp ? '' : ', or top up the account once for more room';
  return new ServiceError(
    'forbidden',
    `The account keeps ${keptFiles} uploads of ${megabytes(keptBytes)} MB in total; the limit is ${quota.files} of ` +
      `${megabytes(quota.bytes)} MB. Delete some with DELETE /v1/files/{id}${remedy}.`,
  );
}

function megabytes(bytes: number): number {
  return Math.ceil((bytes / BYTES_PER_MB) * 10) / 10;
}
