import type { Logger } from 'pino';
import type { RecoveryConfig } from '../../config.ts';
import { createLocalStorage, sweepUnfinished } from '../../storage/local.ts';
import type { Storage } from '../../storage/storage.ts';

/**
 * Opens the configured store of results and uploads. On disk, removes files that a killed process left unfinished.
 * Loads the client of S3 only if it is configured.
 */
export async function openStorage(
  { storage, api }: Pick<RecoveryConfig, 'storage' | 'api'>,
  log: Logger,
): Promise<Storage> {
  if (storage.kind === 'local') {
    sweepUnfinished(storage.folder).catch((error: unknown) =>
      log.warn({ err: error }, 'could not remove unfinished files'),
    );
    return createLocalStorage({ directory: storage.folder, publicUrl: `${api.publicUrl}/files` });
  }
  const { createS3Storage, findRegion } = await import('../../storage/s3.ts');
  const { endpoint, ...rest } = storage;
  return createS3Storage({ ...rest, region: await findRegion(), ...(endpoint !== undefined && { endpoint }) });
}
