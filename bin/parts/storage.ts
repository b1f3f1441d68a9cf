import type { Config } from '../../config.ts';
import { createLocalStorage } from '../../storage/local.ts';
import { createS3Storage } from '../../storage/s3.ts';
import type { Storage } from '../../storage/storage.ts';

/** The place that the configuration chose for results and uploads. */
export function openStorage({ storage, api }: Config): Storage {
  if (storage.kind === 'local') {
    return createLocalStorage({ directory: storage.folder, publicUrl: `${api.publicUrl}/files` });
  }
  const { endpoint, credentials, ...rest } = storage;
  return createS3Storage({ ...rest, ...(endpoint !== undefined && { endpoint }), ...(credentials && { credentials }) });
}
