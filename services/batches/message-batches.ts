/** Batches of messages in the form of Anthropic's API: contract 4.17. */
import { isUnavailable } from '../../db/connections.ts';
import type { Database } from '../../db/database.ts';
import type { Caller } from '../../db/queries/api-keys.ts';
import { deleteBatch } from '../../db/queries/batches.ts';
import { type Batch, isFinalBatch } from '../../domain/batch.ts';
import { badRequest, ServiceError } from '../../domain/errors.ts';
import { notFoundError } from '../../domain/not-found.ts';
import type { Uploads } from '../tasks/uploads.ts';
import type { Batches } from './batches.ts';
import type { CheckedInput } from './check-input.ts';
import { JSON_LINES } from './stored-file.ts';

export const MESSAGES_ENDPOINT = '/v1/messages';
const FILENAME = 'message_batch.jsonl';

interface Services {
  readonly database: Database;
  readonly batches: Batches;
  readonly tasks: { readonly uploads: Uploads };
}

/**
 * Stores requests as the input file of a new batch, while they arrive.
 *
 * @param announcedBytes the size of the body, if the client announced it
 * @param betas the header `anthropic-beta`; null for none
 * @throws ServiceError `bad_request` for a wrong request, and the errors of {@link Uploads.store} and {@link Batches.create}
 */
export async function createMessageBatch(
  caller: Caller,
  requestId: string,
  { announcedBytes, ...input }: CheckedInput & { readonly announcedBytes: number | null },
  betas: Batch['betas'],
  { batches, tasks: { uploads } }: Services,
): Promise<Batch> {
  const { id: inputFileId } = await uploads.store(caller, {
    type: JSON_LINES,
    filename: FILENAME,
    announcedBytes,
    ...input,
  });
  try {
    const order = { inputFileId, endpoint: MESSAGES_ENDPOINT, metadata: null, betas } as const;
    return await batches.create(caller, requestId, order);
  } catch (error) {
    // A batch that may exist needs its input.
    if (!(error instanceof ServiceError && isUnavailable(error.cause))) {
      await uploads.remove(caller.account.id, [inputFileId]).catch(() => {});
    }
    throw error;
  }
}

/** @throws ServiceError `not_found`, also for a batch of another endpoint */
export async function findMessageBatch(caller: Caller, id: string, { batches }: Services): Promise<Batch> {
  const batch = await batches.find(caller, id);
  if (batch.endpoint !== MESSAGES_ENDPOINT) throw notFoundError('batch', caller);
  return batch;
}

/** @throws ServiceError `not_found` */
export async function cancelMessageBatch(caller: Caller, id: string, services: Services): Promise<Batch> {
  await findMessageBatch(caller, id, services);
  return services.batches.cancel(caller, id);
}

/** Deletes a batch with its files. @throws ServiceError `not_found`; `bad_request` before the end of the batch */
export async function removeMessageBatch(caller: Caller, id: string, services: Services): Promise<void> {
  const { status, inputFileId, outputFileId, errorFileId } = await findMessageBatch(caller, id, services);
  if (!isFinalBatch(status)) {
    throw badRequest('The batch is in progress. Cancel the batch, and delete it when it has ended.');
  }
  if (!(await deleteBatch(services.database, caller.account.id, id))) throw notFoundError('batch', caller);
  const files = [inputFileId, outputFileId, errorFileId].filter((file) => file !== null);
  await services.tasks.uploads.remove(caller.account.id, files);
}
