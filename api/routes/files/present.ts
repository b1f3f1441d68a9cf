import type { Upload } from '../../../db/queries/uploads.ts';
import { nullable } from '../../../domain/json-schema.ts';
import { toUnixSeconds } from '../../../domain/unix-time.ts';
import {
  boolean,
  component,
  exactly,
  idOf,
  integer,
  namedObject,
  object,
  text,
  unixSeconds,
} from '../../openapi/json-schema.ts';

export const FileSchema = namedObject<ReturnType<typeof presentFile>>('File', {
  id: idOf('file'),
  object: exactly('file'),
  url: text('The link to pass in media requests', { format: 'uri' }),
  mime_type: text('Detected from the content'),
  bytes: integer(),
  created_at: unixSeconds('When it was uploaded'),
  filename: nullable(text('The client’s file name')),
  used_at: nullable(unixSeconds('When a task first used it')),
  expires_at: nullable(unixSeconds('When it is deleted unless a task uses it; null once one has')),
});

export const DeletedFileSchema = component(
  'DeletedFile',
  object({ id: idOf('file'), object: exactly('file'), deleted: boolean() }),
);

/** @param settings the file's link, and how long it is kept without a task that uses it */
export function presentFile(upload: Upload, { url, expiryMs }: { readonly url: string; readonly expiryMs: number }) {
  const { id, mimeType, bytes, createdAt, filename, usedAt } = upload;
  return {
    id,
    object: 'file',
    url,
    mime_type: mimeType,
    bytes,
    created_at: toUnixSeconds(createdAt),
    filename,
    used_at: usedAt && toUnixSeconds(usedAt),
    expires_at: usedAt === null ? toUnixSeconds(new Date(createdAt.getTime() + expiryMs)) : null,
  };
}
