/** Stores the files of a result after checking that they match the request. */
import { randomBytes } from 'node:crypto';
import { Context } from '@temporalio/activity';
import { recordResultFile } from '../../db/queries/result-files.ts';
import type { GeneratedMedia, Task } from '../../domain/task.ts';
import type { ResultFile } from '../../providers/media/result-file.ts';
import { JobRefusedError, ProviderUnreachableError } from '../../providers/media/outcomes.ts';
import type { MediaUpstream } from '../../providers/media/upstream.ts';
import { detectFileType } from '../../storage/file-type.ts';
import { isAsRequested } from '../../storage/media/is-as-requested.ts';
import { BrokenMediaError } from '../../storage/media/streamed-input.ts';
import { inspectMedia } from '../../storage/media-inspector.ts';
import { peek } from '../../storage/peek.ts';
import { ObjectTooLargeError } from '../../storage/storage.ts';
import type { MediaTaskDependencies } from './dependencies.ts';
import type { Heartbeat } from '../liveness.ts';

/** Larger results are refused rather than stored. */
const MAX_RESULT_BYTES = 2 * 2 ** 30;
/** The bytes that are read to recognise a file. If it is no media file, they often name the error of the file's server. */
const HEAD_BYTES = 120;
/** No request asks for more than one image; a few more are kept. */
const MAX_FILES = 16;

/** The upstream's result is at fault. */
export class ResultFaultError extends Error {
  override readonly name = 'ResultFaultError';
  /** The cause, for operators; null if the message says it. */
  readonly detail: string | null;

  constructor(message: string, detail: string | null = null) {
    super(message);
    this.detail = detail;
  }
}

/** The file is complete but wrong, and fetching it again is unlikely to help. */
export class WrongFileError extends ResultFaultError {}

/**
 * Stores every file of a result under names unique to this attempt, which are unknown until the task is settled with
 * them: an attempt that was taken for dead cannot touch the files of its successor.
 */
export function createFileStorer({ database, storage }: Pick<MediaTaskDependencies, 'database' | 'storage'>) {
  return async (
    task: Task,
    upstream: MediaUpstream,
    files: readonly ResultFile[],
    heartbeat: Heartbeat,
  ): Promise<readonly GeneratedMedia[]> => {
    const folder = `results/${task.id}/${randomBytes(10).toString('hex')}`;
    const keys: string[] = [];
    try {
      const wanted = wantedFiles(task, files);
      if (wanted.length === 0) throw new WrongFileError("The model's result has no file.");
      if (wanted.length > MAX_FILES) throw new WrongFileError(`The model's result has more than ${MAX_FILES} files.`);
      const media: GeneratedMedia[] = [];
      for (const [index, file] of wanted.entries()) {
        media.push(await storeFile({ task, upstream, file, name: `${folder}/${index}`, keys, heartbeat }));
      }
      return media;
    } catch (error) {
      // The sweep removes what cannot be removed now.
      await Promise.allSettled(keys.map((key) => storage.delete(key)));
      throw error;
    }
  };

  async function storeFile({ task, upstream, file, name, keys, heartbeat }: FileToStore): Promise<GeneratedMedia> {
    const signal = Context.current().cancellationSignal;
    const download = await upstream.fetchResult(file, signal);
    const { head, body } = await peek(counted(download.body, name, heartbeat), HEAD_BYTES);
    const type = detectFileType(head);
    if (!type) {
      await download.body.cancel().catch(() => undefined);
      throw new WrongFileError("The model's result is not a media file.", describeHead(head));
    }
    const inspected = inspectMedia(body);
    const key = `${name}.${type.extension}`;
    await recordResultFile(database, key, task.id);
    keys.push(key);
    const stored = await storage.put(key, inspected.body, {
      contentType: type.mimeType,
      maxBytes: MAX_RESULT_BYTES,
      signal,
    });
    const facts = inspected.facts();
    const difference = isAsRequested(facts, task.request);
    if (difference !== null) throw new WrongFileError(`The model's result does not match the request: ${difference}.`);
    return {
      type: task.kind,
      url: stored.url,
      mimeType: facts.mimeType,
      ...(task.kind === 'image' && { width: facts.width, height: facts.height }),
    };
  }
}

interface FileToStore {
  readonly task: Task;
  readonly upstream: MediaUpstream;
  readonly file: ResultFile;
  /** The key without its extension. */
  readonly name: string;
  /** Receives the key before anything is written under it. */
  readonly keys: string[];
  readonly heartbeat: Heartbeat;
}

/**
 * The files to fetch. A video model produces one video (contract 2.2), without extras such as a still. An image model
 * produces all its files but videos and sounds.
 */
export function wantedFiles({ kind }: Pick<Task, 'kind'>, files: readonly ResultFile[]): readonly ResultFile[] {
  if (kind === 'image') return files.filter(({ mimeType }) => !/^(?:video|audio)\//.test(mimeType ?? ''));
  const index = files.findIndex(({ mimeType }) => mimeType?.startsWith('video/'));
  return files.slice(Math.max(index, 0)).slice(0, 1);
}

/** @returns null if the result is not at fault */
export function resultFaultOf(error: unknown): ResultFaultError | null {
  if (error instanceof ResultFaultError) return error;
  // A bad link is no verdict on the job: the upstream's next answer may have another link.
  if (error instanceof JobRefusedError) return new ResultFaultError(error.message, error.detail);
  if (error instanceof ProviderUnreachableError) {
    const { message, cause } = error;
    const detail = cause instanceof Error ? `${message}: ${cause.message}` : message;
    return new ResultFaultError("The model's result could not be fetched.", detail);
  }
  if (error instanceof BrokenMediaError) return new ResultFaultError(`The model's result is broken: ${error.message}.`);
  if (error instanceof ObjectTooLargeError) return new WrongFileError('The result is too large to be stored.');
  return null;
}

/** The start of a file, for operators, as text or as hexadecimal bytes. */
function describeHead(head: Uint8Array): string {
  const start = Buffer.from(head.subarray(0, HEAD_BYTES));
  if (start.length === 0) return 'the file is empty';
  const text = start.toString();
  return `the file starts with ${text.includes('\ufffd') ? start.toString('hex', 0, 16) : text}`;
}

/** Counts the bytes of a file. @throws ProviderUnreachableError if the transfer breaks off */
async function* counted(
  body: AsyncIterable<Uint8Array>,
  file: string,
  heartbeat: Heartbeat,
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  try {
    for await (const chunk of body) {
      bytes += chunk.byteLength;
      heartbeat({ file, bytes });
      yield chunk;
    }
  } catch (error) {
    if (!(error instanceof ProviderUnreachableError) || bytes === 0) throw error;
    throw new ProviderUnreachableError(`the file broke off after ${bytes} bytes`, { cause: error.cause });
  }
}
