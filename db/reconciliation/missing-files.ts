/** Finds files that rows refer to and the store does not have. */
import type { GeneratedMedia } from '../../domain/task.ts';
import type { Database } from '../database.ts';
import { toBatches } from '../to-batches.ts';
import { streamPages } from '../stream-pages.ts';
import type { Discrepancy, FileLookup } from './check.ts';

/** A successful task with its files. */
export interface TaskWithFiles {
  readonly id: string;
  readonly output: readonly Pick<GeneratedMedia, 'url'>[] | null;
}

interface StoredUpload {
  readonly id: string;
  readonly storage_key: string;
}

interface NamedFile {
  readonly id: string;
  readonly key: string;
  readonly detail: string;
}

const MAX_CONCURRENT_LOOKUPS = 10;

/** Queries successful tasks whose customers did not delete the files. */
export function queryTasksWithFiles(database: Database) {
  return database<TaskWithFiles & { status: string; created_at: Date }>('tasks')
    .where({ status: 'succeeded' })
    .whereNotExists(database('deleted_results').whereRaw('task_id = tasks.id'));
}

/** Streams successful tasks with files, oldest first. @param since the earliest creation time */
export function tasksWithFiles(database: Database, since: Date): AsyncIterable<TaskWithFiles> {
  return streamPages<TaskWithFiles>((after, limit) =>
    queryTasksWithFiles(database)
      .where('created_at', '>=', since)
      .where('id', '>', after?.id ?? '')
      .orderBy('id')
      .limit(limit)
      .select('id', 'output'),
  );
}

/**
 * Returns the files of these tasks that the store no longer has. Skips links to other places.
 *
 * @param onLookedUp called after the lookup of each file
 */
export async function* findMissingResults(
  tasks: AsyncIterable<TaskWithFiles>,
  files: FileLookup,
  onLookedUp: () => void = () => {},
): AsyncIterable<Discrepancy> {
  yield* findMissing(resultsOf(tasks, files), files, onLookedUp);
}

/** Returns the uploads whose files are missing, oldest first. @param onLookedUp called after the lookup of each file */
export async function* findMissingUploads(
  database: Database,
  files: FileLookup,
  onLookedUp: () => void = () => {},
): AsyncIterable<Discrepancy> {
  const uploads = streamPages<StoredUpload>((after, limit) =>
    database<StoredUpload & { stored_at: Date; deleted_at: Date }>('uploads')
      .whereNotNull('stored_at')
      .whereNull('deleted_at')
      .where('id', '>', after?.id ?? '')
      .orderBy('id')
      .limit(limit)
      .select('id', 'storage_key'),
  );
  yield* findMissing(filesOf(uploads), files, onLookedUp);
}

async function* resultsOf(tasks: AsyncIterable<TaskWithFiles>, files: FileLookup): AsyncIterable<NamedFile> {
  for await (const { id, output } of tasks) {
    for (const { url } of output ?? []) {
      const key = files.keyOf(url);
      if (key !== null) yield { id, key, detail: `the task succeeded, but its file ${url} is missing` };
    }
  }
}

async function* filesOf(uploads: AsyncIterable<StoredUpload>): AsyncIterable<NamedFile> {
  for await (const { id, storage_key: key } of uploads) yield { id, key, detail: 'the file of the upload is missing' };
}

async function* findMissing(
  named: AsyncIterable<NamedFile>,
  files: FileLookup,
  onLookedUp: () => void,
): AsyncIterable<Discrepancy> {
  for await (const some of toBatches(named, MAX_CONCURRENT_LOOKUPS)) {
    const sizes = await Promise.all(some.map(({ key }) => files.sizeOf(key)));
    for (const [index, { id, detail }] of some.entries()) {
      onLookedUp();
      if (sizes[index] === null) yield { subject: id, detail };
    }
  }
}
