import type { Upload } from '../../../db/queries/uploads.ts';

/** @param settings the link of the file, and how long it is kept while no task uses it */
export function presentFile(upload: Upload, { url, expiryMs }: { readonly url: string; readonly expiryMs: number }) {
  const { id, mimeType, bytes, createdAt, filename, usedAt } = upload;
  return {
    id,
    object: 'file',
    url,
    mime_type: mimeType,
    bytes,
    created_at: unixSeconds(createdAt.getTime()),
    filename,
    used_at: usedAt && unixSeconds(usedAt.getTime()),
    expires_at: usedAt === null ? unixSeconds(createdAt.getTime() + expiryMs) : null,
  };
}

function unixSeconds(milliseconds: number): number {
  return Math.floor(milliseconds / 1000);
}
