/** Checks whether the paid results of tasks exist. */
import { createdAtMsOf, firstIdAt } from '../../domain/ids.ts';
import type { Database } from '../database.ts';
import type { Check } from './check.ts';
import { findMissingResults, queryTasksWithFiles, type TaskWithFiles } from './missing-files.ts';

const LATEST_TASKS = 500;
/** Samples older tasks: a few neighbours at each of so many random times. */
const SAMPLES = 50;
const TASKS_PER_SAMPLE = 10;

export const RESULT_CHECK: Check = {
  name: 'results',
  question: `Is every file there that the latest ${LATEST_TASKS} tasks that succeeded name, and ${SAMPLES * TASKS_PER_SAMPLE} others by chance?`,
  remedy:
    'Look for the file in the copies of the store. `genway recover` lists all missing files. For a lost file, credit the customer by an adjustment.',
  async *find({ database, files }) {
    const latest = await queryTasksWithFiles(database).orderBy('id', 'desc').limit(LATEST_TASKS).select('id', 'output');
    const others = await sampleBefore(database, latest.at(-1)?.id);
    yield* findMissingResults(oneByOne([...latest, ...others]), files);
  },
};

/** Samples tasks at random times, since ids contain their time. */
async function sampleBefore(database: Database, before: string | undefined): Promise<readonly TaskWithFiles[]> {
  const oldest = await queryTasksWithFiles(database).orderBy('id').first('id');
  if (before === undefined || !oldest || oldest.id === before) return [];
  const fromMs = createdAtMsOf('task', oldest.id);
  const untilMs = createdAtMsOf('task', before);
  const tasks = new Map<string, TaskWithFiles>();
  for (let sample = 0; sample < SAMPLES; sample += 1) {
    const atMs = Math.ceil(fromMs + Math.random() * (untilMs - fromMs));
    const found = await queryTasksWithFiles(database)
      .where('created_at', '<=', new Date(atMs))
      .where('id', '<', firstIdAt('task', atMs + 1))
      .where('id', '<', before)
      .orderBy('id', 'desc')
      .limit(TASKS_PER_SAMPLE)
      .select('id', 'output');
    for (const task of found) tasks.set(task.id, task);
  }
  return [...tasks.values()];
}

async function* oneByOne<Item>(items: readonly Item[]): AsyncIterable<Item> {
  yield* items;
}
