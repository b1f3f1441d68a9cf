import type { Upload } from '../../../db/queries/uploads.ts';
import { FILE_PURPOSES } from '../../../domain/file-purpose.ts';
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
  url: field.url(
    'url',
    'The link to pass in media requests. Of a batch’s file, the address of its content, which needs a key',
  ),
  mime_type: field.text('mimeType', 'The type, detected from the content'),
  bytes: field.integer('bytes'),
  purpose: field.oneOf(FILE_PURPOSES)(
    'purpose',
    'The use of the file: media tasks, the input or the output of a batch',
  ),
  status: field.constant('processed'),
  created_at: field.unixSeconds('createdAt', 'When the file was uploaded'),
  filename: field.text.orNull('filename', 'The client’s file name'),
  used_at: field.unixSeconds.orNull('usedAt', 'When a task or batch first used the file. Null if none has'),
  expires_at: field.unixSeconds.orNull(
    ({ expiresAt, usedAt, createdAt, expiryMs }) =>
      expiresAt ?? (usedAt === null ? new Date(createdAt.getTime() + expiryMs) : null),
    'When the file is deleted: 30 days after its creation for a batch’s file. Null for a file that a task has used',
  ),
});

export const DELETED_FILE = resource('DeletedFile', deletionOf('file', 'file').fields);
