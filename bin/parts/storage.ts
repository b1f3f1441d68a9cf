import type { Logger } from 'pino';
import type { RecoveryConfig } from '../../config.ts';
import { createLocalStorage, sweepUnfinished } from '../../storage/local.ts';
import { createS3Storage } from '../../storage/s3.ts';
import type { Storage } from '../../storage/storage.ts';

/** Opens the configured store of results and uploads. On disk, removes files that a killed process left unfinished. */
export function openStorage({ storage, api }: Pick<RecoveryConfig, 'storage' | 'api'>, log: Logger): Storage {
  if (storage.kind === 'local') {
    sweepUnfinished(storage.folder).catch((error: unknown) =>
      log.warn({ err: error }, 'unfinished files could not be removed'),
    );
    return createLocalStorage({ directory: storage.folder, publicUrl: `${api.publicUrl}/files` });
  }
  const { endpoint, credentials, ...rest } = storage;
  return createS3Storage({ ...rest, ...(endpoint !== undefined && { endpoint }), ...(credentials && { credentials }) });
}
