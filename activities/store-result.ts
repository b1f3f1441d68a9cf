/**
 * The step that stores what a provider rendered. Three kinds of things go wrong, and each is treated in its own way: what the
 * provider's result is to blame for is asked for again, with fresh links, and then believed; what our own store is to blame
 * for is tried for as long as storing may take (the retries of the activity); the rest, such as the database, likewise.
 */
import { randomBytes } from 'node:crypto';
import { Context } from '@temporalio/activity';
import type { Database } from '../db/database.ts';
import { recordResultFile } from '../db/queries/result-files.ts';
import type { GeneratedMedia, Task } from '../domain/task.ts';
import {
  type JobResult,
  JobRefusedError,
  type MediaProvider,
  ProviderUnreachableError,
} from '../providers/media-provider.ts';
import { detectFileType, FILE_TYPE_BYTES } from '../storage/file-type.ts';
import { matchesRequest } from '../storage/media/matches-request.ts';
import { BrokenMediaError } from '../storage/media/streamed-input.ts';
import { inspectMedia } from '../storage/media-inspector.ts';
import { peek } from '../storage/peek.ts';
import { ObjectTooLargeError, type Storage } from '../storage/storage.ts';
import { whileBeating } from './liveness.ts';
import { taskFailure } from './task-failure.ts';

export interface StoreResultDependencies {
  readonly database: Database;
  readonly storage: Storage;
  /** How long a result that does not arrive is asked for again before the provider is believed that there is none. */
  readonly providerPatienceMs: number;
}

/** What operators are shown of a step. */
type Say = (details: object) => void;

/** Larger results are refused rather than stored. */
const MAX_RESULT_BYTES = 2 * 2 ** 30;
/** So often a file is fetched that arrives whole and is not what was asked for. */
const MAX_WRONG_FILES = 4;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15_000;

/** The provider's result is to blame. */
class ResultFaultError extends Error {
  override readonly name = 'ResultFaultError';
}

/** The file arrived whole, and another attempt will hardly bring another one. */
class WrongFileError extends ResultFaultError {}

export function createResultStorer({ database, storage, providerPatienceMs }: StoreResultDependencies) {
  /**
   * Stores every file of the result under names of this attempt's own, which nobody knows before the task is settled with
   * them: an attempt that was taken for dead cannot touch the files of the one that took its place.
   *
   * @throws ApplicationFailure `result_transfer_failed`, or the provider's verdict, when there is no result to be had
   * @throws Error when the same may be tried again
   */
  return async function storeResult(task: Task, provider: MediaProvider, jobId: string): Promise<GeneratedMedia[]> {
    const context = Context.current();
    return whileBeating(context, async (say) => {
      const startedAt = performance.now();
      let pauseMs = FIRST_PAUSE_MS;
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await attemptToStore(task, provider, jobId, say);
        } catch (error) {
          const fault = toResultFault(error);
          const isOver =
            fault instanceof WrongFileError
              ? attempt >= MAX_WRONG_FILES
              : performance.now() - startedAt + pauseMs > providerPatienceMs;
          if (isOver) throw taskFailure('result_transfer_failed', fault.message);
          say({ attempt, fault: fault.message });
          await context.sleep(pauseMs);
          pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
        }
      }
    });
  };

  async function attemptToStore(
    task: Task,
    provider: MediaProvider,
    jobId: string,
    say: Say,
  ): Promise<GeneratedMedia[]> {
    const results = await freshResults(task, provider, jobId);
    const folder = `results/${task.id}/${randomBytes(10).toString('hex')}`;
    const keys: string[] = [];
    try {
      const media: GeneratedMedia[] = [];
      for (const [index, result] of results.entries()) {
        media.push(await storeFile({ task, provider, result, name: `${folder}/${index}`, keys, say }));
      }
      return media;
    } catch (error) {
      // What cannot be removed now is swept.
      await Promise.allSettled(keys.map((key) => storage.delete(key)));
      throw error;
    }
  }

  async function storeFile({ task, provider, result, name, keys, say }: FileToStore): Promise<GeneratedMedia> {
    const signal = Context.current().cancellationSignal;
    const download = await provider.fetchResult(result, signal);
    const { head, body } = await peek(counted(download.body, name, say), FILE_TYPE_BYTES);
    const type = detectFileType(head);
    if (!type) {
      await download.body.cancel().catch(() => undefined);
      throw new WrongFileError("The model's result is not a media file.");
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
    const difference = matchesRequest(facts, task.request);
    if (difference !== null) throw new WrongFileError(`The model's result is not what was asked for: ${difference}.`);
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
  readonly provider: MediaProvider;
  readonly result: JobResult;
  /** The key, without its extension. */
  readonly name: string;
  /** Gains the key before anything is written under it. */
  readonly keys: string[];
  readonly say: Say;
}

/** Asked for at each attempt, so that links are fresh and never part of a history. */
async function freshResults(task: Task, provider: MediaProvider, jobId: string): Promise<readonly JobResult[]> {
  const state = await provider.status(jobId, Context.current().cancellationSignal);
  if (state.state === 'failed') throw taskFailure(state.code, state.message);
  if (state.state !== 'succeeded') throw new ResultFaultError('The model announced a result and then knew of none.');
  if (state.results.length === 0) throw new ResultFaultError('The model announced a result without any file.');
  return wantedResults(task, state.results);
}

/**
 * A video model makes one video (specification section 2.2): what else the upstream offers beside it, such as a still or
 * another take, is not fetched. Pictures are all the client's.
 */
function wantedResults({ kind }: Task, results: readonly JobResult[]): readonly JobResult[] {
  if (kind === 'image') return results;
  const index = results.findIndex(({ mimeType }) => mimeType?.startsWith('video/'));
  return results.slice(Math.max(index, 0)).slice(0, 1);
}

/** @throws the error itself when it is not the result that is to blame */
function toResultFault(error: unknown): ResultFaultError {
  if (error instanceof ResultFaultError) return error;
  // What a link answers is no verdict on the job: the next answer of the provider may hold another link.
  if (error instanceof JobRefusedError) return new ResultFaultError(error.message);
  if (error instanceof ProviderUnreachableError)
    return new ResultFaultError("The model's result could not be fetched.");
  if (error instanceof BrokenMediaError) return new ResultFaultError(`The model's result is broken: ${error.message}.`);
  if (error instanceof ObjectTooLargeError) return new WrongFileError('The result is too large to be stored.');
  throw error;
}

async function* counted(body: AsyncIterable<Uint8Array>, file: string, say: Say): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    say({ file, bytes });
    yield chunk;
  }
}
