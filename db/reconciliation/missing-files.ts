/** Do the files exist that rows refer to? Each file is looked up in the store. */
import type { GeneratedMedia } from '../../domain/task.ts';
import type { Database } from '../database.ts';
import { inPages } from '../in-pages.ts';
import { streamPages } from '../stream-pages.ts';
import type { Discrepancy, FileLookup } from './check.ts';

/** A successful task with the files that it refers to. */
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

const AT_ONCE = 10;

/** Successful tasks, oldest first. @param since the earliest creation time */
export function tasksWithFiles(database: Database, since: Date): AsyncIterable<TaskWithFiles> {
  return streamPages<TaskWithFiles>((after, limit) =>
    database<TaskWithFiles & { status: string; created_at: Date }>('tasks')
      .where({ status: 'succeeded' })
      .where('created_at', '>=', since)
      .where('id', '>', after?.id ?? '')
      .orderBy('id')
      .limit(limit)
      .select('id', 'output'),
  );
}

/**
 * The files that are gone of those that these tasks name. Links to elsewhere are not looked at.
 *
 * @param onLookedUp called with each file that was looked up
 */
export async function* findMissingResults(
  tasks: AsyncIterable<TaskWithFiles>,
  files: FileLookup,
  onLookedUp: () => void = () => {},
): AsyncIterable<Discrepancy> {
  yield* findMissing(resultsOf(tasks, files), files, onLookedUp);
}

/** The uploads whose files are gone, oldest first. @param onLookedUp called with each file that was looked up */
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
  for await (const some of inPages(named, AT_ONCE)) {
    const found = await Promise.all(some.map(({ key }) => files.has(key)));
    for (const [index, { id, detail }] of some.entries()) {
      onLookedUp();
      if (!found[index]) yield { subject: id, detail };
    }
  }
}
