import { pngFile } from './media-files.ts';

/** Uploads a small picture. @param mark part of its bytes and of its name */
export async function uploadImage(
  { baseUrl }: { readonly baseUrl: string },
  key: string,
  mark = '',
): Promise<{ readonly id: string; readonly url: string }> {
  const form = new FormData();
  form.append('file', new Blob([Uint8Array.from(pngFile()), mark], { type: 'image/png' }), `${mark}.png`);
  const headers = { authorization: `Bearer ${key}` };
  const response = await fetch(`${baseUrl}/v1/files`, { method: 'POST', headers, body: form });
  // The tests of uploads check the shape.
  return ((await response.json()) as { data: { id: string; url: string } }).data;
}
