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
  mime_type: field.text('mimeType', 'Detected from the content'),
  bytes: field.integer('bytes'),
  created_at: field.unixSeconds('createdAt', 'When it was uploaded'),
  filename: field.text.orNull('filename', 'The client’s file name'),
  used_at: field.unixSeconds.orNull('usedAt', 'When a task first used it'),
  expires_at: field.unixSeconds.orNull(
    ({ usedAt, createdAt, expiryMs }) => (usedAt === null ? new Date(createdAt.getTime() + expiryMs) : null),
    'When it is deleted unless a task uses it; null once one has',
  ),
});

export const DELETED_FILE = resource('DeletedFile', deletionOf('file', 'file').fields);
