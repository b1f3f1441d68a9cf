/** Reads the input of a batch into its lines, or refuses the input: contract 4.17. */
import type { Database } from '../../db/database.ts';
import type { Encryption } from '../../db/encryption.ts';
import {
  contentId,
  endTaskLines,
  insertBatchLines,
  type NewBatchLine,
  type TaskLineEnd,
} from '../../db/queries/batch-lines.ts';
import { findPreparingBatch, finishBatch, startBatch } from '../../db/queries/batch-runs.ts';
import { findUpload } from '../../db/queries/uploads.ts';
import { type Batch, type BatchError, createsTasks } from '../../domain/batch.ts';
import { ServiceError } from '../../domain/errors.ts';
import { newId } from '../../domain/ids.ts';
import type { JsonObject } from '../../domain/json.ts';
import { isStorable } from '../../domain/storable-text.ts';
import { BATCHES } from '../../domain/policy.ts';
import type { Storage } from '../../storage/storage.ts';
import { jsonTextOf } from '../../text/json/write.ts';
import { InputFileMissingError, readBatchLines } from './read-lines.ts';
import { endRefused, type LineTasks, type MediaEndpoint } from './start-task.ts';

export interface PrepareServices {
  readonly database: Database;
  readonly storage: Pick<Storage, 'read'>;
  readonly encryption: Encryption;
  readonly tasks: Pick<LineTasks, 'endpoints'>;
}

/** Lines are written so many at once, or fewer if they are long. */
const PAGE_LINES = 500;
const PAGE_BYTES = 4 * 2 ** 20;

/**
 * Has no effect on a batch whose input was read before. A repetition after a crash starts from the first line, and may
 * run beside an earlier one whose process was taken for dead. Lines of a refused input are deleted at the end of the batch.
 *
 * @param onLines called after some lines
 */
export async function prepareBatch(batchId: string, services: PrepareServices, onLines: () => void): Promise<void> {
  const { database } = services;
  const batch = await findPreparingBatch(database, batchId);
  if (batch === null) return;
  const errors = await copyLines(batch, services, onLines).catch((error: unknown): readonly BatchError[] => {
    if (error instanceof InputFileMissingError) return [MISSING_FILE];
    throw error;
  });
  if (errors.length === 0) return startBatch(database, batchId);
  await finishBatch(database, batchId, { status: 'failed', errors });
}

async function copyLines(
  batch: Batch,
  { database, storage, encryption, tasks }: PrepareServices,
  onLines: () => void,
): Promise<readonly BatchError[]> {
  const { id, accountId, inputFileId, endpoint } = batch;
  const upload = await findUpload(database, accountId, inputFileId);
  if (upload === null) return [MISSING_FILE];
  const errors: BatchError[] = [];
  let page: NewBatchLine[] = [];
  let refused: TaskLineEnd[] = [];
  let pageBytes = 0;
  const writePage = async (): Promise<void> => {
    if (page.length > 0) await insertBatchLines(database, id, page);
    await endTaskLines(database, id, refused);
    page = [];
    refused = [];
    pageBytes = 0;
    onLines();
  };
  for await (const { number, customId, url, body, bytes } of readBatchLines(storage, upload.storageKey)) {
    if (url !== endpoint) {
      const message = `Line ${number}: "url" must be "${endpoint}", the endpoint of the batch.`;
      errors.push({ code: 'mismatched_url', message, line: number, param: 'url' });
    }
    if (errors.length >= BATCHES.maxErrors) return errors;
    const refusal = createsTasks(endpoint) ? refusalOf(body, tasks.endpoints[endpoint]) : null;
    if (refusal !== null) {
      refused.push(endRefused({ batchId: id, number, attempt: 1, requestId: newId('request') }, refusal, encryption));
    }
    const encryptedRequest = encryption.encryptCompact(jsonTextOf(body), contentId(id, number, 0));
    page.push({ number, customId, encryptedRequest, model: modelOf(body) });
    pageBytes += bytes;
    if (page.length >= PAGE_LINES || pageBytes >= PAGE_BYTES) await writePage();
  }
  await writePage();
  return errors;
}

/** No model has a longer name. */
const MAX_MODEL_LENGTH = 200;

function modelOf({ model }: JsonObject): string | null {
  return typeof model === 'string' && model.length <= MAX_MODEL_LENGTH && isStorable(model) ? model : null;
}

/** Why a direct create would refuse the form of a request. */
function refusalOf(body: JsonObject, { parse }: MediaEndpoint): ServiceError | null {
  try {
    parse(body);
    return null;
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
}

const MISSING_FILE: BatchError = {
  code: 'file_not_found',
  message: 'The input file was deleted. Upload the file again.',
  line: null,
  param: 'input_file_id',
};
