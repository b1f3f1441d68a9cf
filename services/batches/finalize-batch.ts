/** Writes the files of a batch whose lines have ended, and makes the batch final: contract 4.17. */
import type { Database } from '../../db/database.ts';
import type { Encryption } from '../../db/encryption.ts';
import {
  contentId,
  deleteBatchLines,
  type EndedLine,
  endWaitingLines,
  readEndedLines,
} from '../../db/queries/batch-lines.ts';
import { findAnyBatch, finishBatch, startFinalizing } from '../../db/queries/batch-runs.ts';
import type { Batch } from '../../domain/batch.ts';
import { derivedId } from '../../domain/ids.ts';
import type { Storage } from '../../storage/storage.ts';
import { recordTaskEnds } from './run-tasks.ts';
import { writeOutputFile } from './output-file.ts';

export interface FinalizeServices {
  readonly database: Database;
  readonly storage: Storage;
  readonly encryption: Encryption;
}

/** The variants of the ids of both files. */
const [OUTPUT_FILE, ERROR_FILE] = [0, 1];

/**
 * Ends lines that have no answer, and writes the files. Can be repeated after a crash: lines that have ended do not
 * change.
 *
 * @param onLine called with each line that is written
 */
export async function finalizeBatch(batchId: string, services: FinalizeServices, onLine: () => void): Promise<void> {
  const { database } = services;
  const batch = await startFinalizing(database, batchId);
  if (batch !== null) {
    const isCancelled = batch.status === 'cancelling';
    const left = await endWaitingLines(database, batchId, isCancelled ? 'cancelled' : 'expired');
    // A process that lost the batch may have started a task a moment ago.
    if ((await recordTaskEnds(batchId, services)) > 0) throw new Error(`tasks of ${batchId} have not ended`);
    const hasExpired = left > 0 || (await hasExpiredLines(batch, database));
    await finishBatch(database, batchId, {
      status: isCancelled ? 'cancelled' : hasExpired ? 'expired' : 'completed',
      outputFileId: await writeFile(batch, true, services, onLine),
      errorFileId: await writeFile(batch, false, services, onLine),
    });
  }
  // Also after a crash between the end and this step.
  await deleteBatchLines(database, batchId);
}

async function hasExpiredLines({ id }: Batch, database: Database): Promise<boolean> {
  const row = await database('batch_lines').where({ batch_id: id, status: 'expired' }).first('number');
  return row !== undefined;
}

/** @returns the id of the file; null if there are no such lines */
async function writeFile(
  batch: Batch,
  succeeded: boolean,
  { database, storage, encryption }: FinalizeServices,
  onLine: () => void,
): Promise<string | null> {
  async function* lines(): AsyncGenerator<string> {
    for await (const line of readEndedLines(database, batch.id, { succeeded })) {
      onLine();
      yield writeLine(batch, line, encryption);
    }
    // Another process that has ended the batch has deleted lines that this one did not read.
    if ((await findAnyBatch(database, batch.id))?.endedAt !== null) throw new Error(`${batch.id} has ended`);
  }
  const file = await writeOutputFile(database, storage, {
    id: derivedId('file', batch.id, succeeded ? OUTPUT_FILE : ERROR_FILE),
    accountId: batch.accountId,
    filename: `${batch.id}_${succeeded ? 'output' : 'error'}.jsonl`,
    lines: lines(),
  });
  return file?.id ?? null;
}

const MESSAGES = {
  expired: { code: 'batch_expired', message: 'This request did not start before the batch expired.' },
  cancelled: { code: 'batch_cancelled', message: 'This request did not start before the batch was cancelled.' },
};

/** A line of a file, in the form of OpenAI's batches. An answer is JSON already. */
function writeLine({ id: batchId }: Batch, line: EndedLine, encryption: Encryption): string {
  const { number, attempt, customId, status, responseStatus, requestId, encryptedAnswer } = line;
  const id = JSON.stringify(`batch_req_${batchId.slice('batch_'.length)}_${number}`);
  const head = `{"id":${id},"custom_id":${JSON.stringify(customId)}`;
  if (status === 'expired' || status === 'cancelled') {
    return `${head},"attempt":${attempt},"response":null,"error":${JSON.stringify(MESSAGES[status])}}`;
  }
  if (encryptedAnswer === null) throw new Error(`line ${number} of ${batchId} is final without an answer`);
  const body = encryption.decrypt(encryptedAnswer, contentId(batchId, number, attempt));
  return (
    `${head},"attempt":${attempt},"response":{"status_code":${responseStatus},` +
    `"request_id":${JSON.stringify(requestId)},"body":${withoutBreaks(body)}},"error":null}`
  );
}

/** An upstream may write JSON over several lines; within its texts, line breaks are escaped. */
function withoutBreaks(json: string): string {
  return json.replaceAll(/[\r\n]+/g, ' ');
}
