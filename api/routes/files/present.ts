import type { UploadedFile } from './receive-upload.ts';

export function presentFile(file: UploadedFile) {
  return {
    id: file.id,
    object: 'file',
    url: file.url,
    mime_type: file.mimeType,
    bytes: file.bytes,
    created_at: Math.floor(file.createdAt.getTime() / 1000),
    filename: file.filename,
  };
}
