import type { Upload } from '../../../db/queries/uploads.ts';
import * as field from '../../../domain/resource/field.ts';
import { deletionOf, resource } from '../../../domain/resource/resource.ts';

/** An upload with its link, and how long it is kept without a task that uses it. */
interface ShownUpload extends Upload {
  readonly url: string;
  readonly expiryMs: number;
}

export const FILE = resource<ShownUpload>('UploadedFile', {
  id: field.id('file')('id'),
  object: field.constant('file'),
  url: field.url('url', 'The link to pass in media requests'),
  mime_type: field.text('mimeType', 'The type, detected from the content'),
  bytes: field.integer('bytes'),
  created_at: field.unixSeconds('createdAt', 'When the file was uploaded'),
  filename: field.text.orNull('filename', 'The client’s file name'),
  used_at: field.unixSeconds.orNull('usedAt', 'When a task first used the file. Null if none has'),
  expires_at: field.unixSeconds.orNull(
    ({ usedAt, createdAt, expiryMs }) => (usedAt === null ? new Date(createdAt.getTime() + expiryMs) : null),
    'When the unused file is deleted. Null if a task has used it',
  ),
});

export const DELETED_FILE = resource('DeletedFile', deletionOf('file', 'file').fields);
