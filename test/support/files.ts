/** The files of a whole stack: uploads of clients, their places, and the sweeps that delete them. */
import { join } from 'node:path';
import { createLocalStorage } from '../../storage/local.ts';
import { createFileSweeps, type SweepDependencies } from '../../temporal/activities/sweep.ts';
import { createHistoryEraser } from '../../temporal/history-eraser.ts';
import { pngFile } from './media-files.ts';
import type { TestStack } from './stack.ts';

/** Uploads a small picture. @param mark part of its bytes and of its name */
export async function uploadImage(
  { baseUrl }: TestStack,
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

export function filesFolderOf({ environment }: TestStack): string {
  return join(environment['GENWAY_HOME'] ?? '', 'files');
}

/** The sweeps that the worker runs every ten minutes. */
export function fileSweepsOf(stack: TestStack, settings: Partial<SweepDependencies> = {}) {
  return createFileSweeps({
    storage: createLocalStorage({ directory: filesFolderOf(stack), publicUrl: `${stack.baseUrl}/files` }),
    histories: createHistoryEraser(stack.temporal),
    uploadExpiryMs: 86_400_000,
    ...settings,
  });
}
