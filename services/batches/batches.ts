/** Creates, finds and cancels batches: contract 4.17. The workflow `batch` runs them. */
import { isConnectionLost } from '../../db/connections.ts';
import type { Database } from '../../db/database.ts';
import type { Caller } from '../../db/queries/api-keys.ts';
import { cancelBatch, findBatch, insertBatch } from '../../db/queries/batches.ts';
import { claimBatchInput } from '../../db/queries/uploads.ts';
import type { Batch, BatchEndpoint } from '../../domain/batch.ts';
import { ServiceError } from '../../domain/errors.ts';
import { createdAtMsOf, newId } from '../../domain/ids.ts';
import { notFoundError } from '../../domain/not-found.ts';
import { BATCHES } from '../../domain/policy.ts';
import { unconfirmedError } from '../tasks/idempotency.ts';
import { batchFileExpiry } from './stored-file.ts';

export interface BatchOrder {
  /** A file of the account with the purpose `batch`. */
  readonly inputFileId: string;
  readonly endpoint: BatchEndpoint;
  readonly metadata: Batch['metadata'];
  /** None by default. */
  readonly betas?: Batch['betas'];
}

export interface Batches {
  /**
   * Creates a batch. The relay starts its workflow, which checks the lines of the file.
   *
   * @param once.within makes other changes of the transaction that creates the batch
   * @param once.isRepeatable whether a repeated call returns the batch; by default, it creates another one
   * @throws ServiceError `not_found` for a file that the account does not have, 429 above the limit of batches
   */
  create(
    caller: Caller,
    requestId: string,
    order: BatchOrder,
    once?: {
      readonly isRepeatable: boolean;
      readonly within: (transaction: Database, created: Batch) => Promise<void>;
    },
  ): Promise<Batch>;
  /** @throws ServiceError `not_found` */
  find(caller: Caller, id: string): Promise<Batch>;
  /**
   * Makes no further line start. Lines in progress end, and are charged. Has no effect on a batch that is final or about
   * to be.
   *
   * @throws ServiceError `not_found`
   */
  cancel(caller: Caller, id: string): Promise<Batch>;
}

export function createBatches(database: Database): Batches {
  async function find(caller: Caller, id: string): Promise<Batch> {
    const batch = await findBatch(database, caller.account.id, id);
    if (batch === null) throw notFoundError('batch', caller);
    return batch;
  }
  return {
    find,
    create: async (caller, requestId, { inputFileId, endpoint, metadata, betas = null }, once) => {
      const { account, key } = caller;
      const id = newId('batch');
      const createdAt = new Date(createdAtMsOf('batch', id));
      const input = await claimBatchInput(database, {
        accountId: account.id,
        fileId: inputFileId,
        expiresAt: batchFileExpiry(createdAt),
      });
      if (input === null) throw notFoundError('file', caller);
      const batch = await insertBatch(
        database,
        {
          id,
          accountId: account.id,
          apiKeyId: key.id,
          requestId,
          endpoint,
          inputFileId,
          metadata,
          betas,
          total: input.lines ?? 0,
          createdAt,
        },
        once?.within,
      ).catch((error: unknown) => {
        if (!(error instanceof Error) || !isConnectionLost(error)) throw error;
        throw unconfirmedError(`batch ${id}`, once?.isRepeatable ?? false, error);
      });
      if (batch !== null) return batch;
      throw new ServiceError(
        'user_concurrency_exceeded',
        `An account may have ${BATCHES.maxRunning} batches with ${BATCHES.maxRunningLines} requests in progress. Wait until a batch ends, or cancel one.`,
      );
    },
    cancel: async (caller, id) => {
      await cancelBatch(database, caller.account.id, id);
      return find(caller, id);
    },
  };
}
