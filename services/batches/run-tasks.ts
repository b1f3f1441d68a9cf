/**
 * Runs the lines of a batch of media tasks: creates as many tasks at once as the account may have, and records their
 * ends. Each task is an ordinary one, with a workflow of its own: contract 4.17.
 */
import type { Database } from '../../db/database.ts';
import type { Encryption } from '../../db/encryption.ts';
import type { Caller } from '../../db/queries/api-keys.ts';
import {
  contentId,
  endTaskLines,
  findLinesWithTasks,
  listUnstartedLines,
  type TaskLine,
  type TaskLineEnd,
  type UnstartedLine,
} from '../../db/queries/batch-lines.ts';
import { endRunning, findAnyBatch, findRunningBatch, resumeBatch } from '../../db/queries/batch-runs.ts';
import { countFreeTasks, findFinalTasks, findTask } from '../../db/queries/tasks.ts';
import { pause } from '../../domain/background-loop.ts';
import { type Batch, createsTasks, OPERATOR_PAUSE } from '../../domain/batch.ts';
import { ServiceError } from '../../domain/errors.ts';
import { TASK } from '../../domain/task-object.ts';
import type { Task } from '../../domain/task.ts';
import { parseJson } from '../../text/json/parse.ts';
import { type ChunkResult, findUsableCaller } from './run-chunk.ts';
import { type LineTasks, type StartOutcome, startTask } from './start-task.ts';

export interface TaskChunkServices {
  readonly database: Database;
  readonly encryption: Encryption;
  readonly tasks: LineTasks;
}

interface RunOptions {
  /** Makes no further task start. */
  readonly signal: AbortSignal;
  /** The wait between two looks at the tasks; a second by default. */
  readonly pollMs?: number;
}

const POLL_MS = 1_000;
const TASKS_AT_ONCE = 500;
const OK = 200;

/** The lines of a batch that are not final, as this process knows them. */
interface Progress {
  /** Lines by the ids of their tasks. */
  running: Map<string, TaskLine>;
  /** The lines up to this number have started; null if all have. */
  startedUpTo: number | null;
}

/**
 * Runs all lines. The state is in PostgreSQL, so a process that repeats the step awaits the tasks of the earlier one.
 *
 * @returns `done` and `stopped` once no task of the batch runs; `paused` at a refusal that concerns all lines
 */
export async function runTasks(
  batchId: string,
  services: TaskChunkServices,
  { signal, pollMs = POLL_MS }: RunOptions,
): Promise<ChunkResult> {
  const { database } = services;
  const progress: Progress = { running: new Map(), startedUpTo: 0 };
  let hasCancelled = false;
  while (!signal.aborted) {
    const batch = await findRunningBatch(database, batchId);
    // Another process may have started lines.
    if (batch === null || progress.startedUpTo === 0) progress.running = await findLinesWithTasks(database, batchId);
    await recordEnds(batchId, progress.running, services);
    if (batch === null && progress.running.size === 0) return { kind: 'stopped' };
    if (batch === null && !hasCancelled) await cancelTasks(batchId, progress.running, services);
    hasCancelled ||= batch === null;
    const step = batch === null ? 'waiting' : await startNext(batch, progress, services);
    if (typeof step === 'object') return step;
    if (step === 'waiting') await pause(pollMs, signal);
  }
  return { kind: 'more' };
}

/**
 * Records the ends of the tasks of a batch.
 *
 * @returns how many tasks have not ended
 */
export async function recordTaskEnds(batchId: string, services: Omit<TaskChunkServices, 'tasks'>): Promise<number> {
  const lines = await findLinesWithTasks(services.database, batchId);
  await recordEnds(batchId, lines, services);
  return lines.size;
}

/** Records the ends of tasks, and removes their lines. */
async function recordEnds(
  batchId: string,
  lines: Map<string, TaskLine>,
  { database, encryption }: Omit<TaskChunkServices, 'tasks'>,
): Promise<void> {
  const taskIds = [...lines.keys()];
  for (let start = 0; start < taskIds.length; start += TASKS_AT_ONCE) {
    const tasks = await findFinalTasks(database, taskIds.slice(start, start + TASKS_AT_ONCE));
    const ends = tasks.flatMap((task) => {
      const line = lines.get(task.id);
      return line === undefined ? [] : [endOf(batchId, line, task, encryption)];
    });
    await endTaskLines(database, batchId, ends);
    for (const { id } of tasks) lines.delete(id);
  }
}

/** The answer of a line is that of polling its task. */
function endOf(batchId: string, { number, attempt }: TaskLine, task: Task, encryption: Encryption): TaskLineEnd {
  const answer = JSON.stringify({ data: TASK.present(task) });
  return {
    number,
    attempt,
    taskId: task.id,
    status: task.status === 'succeeded' ? 'succeeded' : 'failed',
    responseStatus: OK,
    requestId: task.requestId,
    encryptedAnswer: encryption.encryptCompact(answer, contentId(batchId, number, attempt)),
  };
}

/** `started`: more lines may start at once. `waiting`: the next lines start later. */
type Step = 'started' | 'waiting' | ChunkResult;

/** Creates the tasks of the next lines, as many as the account may have. */
async function startNext(batch: Batch, progress: Progress, services: TaskChunkServices): Promise<Step> {
  const { database, tasks } = services;
  const { startedUpTo, running } = progress;
  if (startedUpTo === null) {
    if (running.size > 0) return 'waiting';
    // The last look from the first line on.
    progress.startedUpTo = 0;
    return 'started';
  }
  if (batch.operatorPausedAt !== null) return { kind: 'paused', reason: OPERATOR_PAUSE };
  const caller = await findUsableCaller(database, batch);
  if (caller instanceof ServiceError) return { kind: 'paused', reason: caller.code };
  const free = await countFreeTasks(database, batch.accountId, tasks.limits.concurrentTasks);
  const lines = await listUnstartedLines(database, batch.id, { after: startedUpTo, limit: Math.max(free, 1) });
  if (lines.length === 0) {
    if (running.size === 0 && (await endRunning(database, batch.id))) return { kind: 'done' };
    progress.startedUpTo = null;
    return 'started';
  }
  if (free === 0) return 'waiting';
  const outcomes = await Promise.all(lines.map((line) => startLine(batch, line, caller, services)));
  return recordStarts(batch, outcomes, progress, services);
}

interface StartedLine extends TaskLine {
  readonly outcome: StartOutcome;
}

async function startLine(
  { id: batchId, endpoint }: Batch,
  { number, attempt, encryptedRequest }: UnstartedLine,
  caller: Caller,
  services: TaskChunkServices,
): Promise<StartedLine> {
  if (!createsTasks(endpoint)) throw new Error(`${endpoint} creates no tasks`);
  const body = await parseJson(
    Buffer.from(services.encryption.decrypt(encryptedRequest, contentId(batchId, number, 0))),
  );
  const outcome = await startTask({ batchId, endpoint, number, attempt, caller, body }, services);
  return { number, attempt, outcome };
}

async function recordStarts(
  batch: Batch,
  lines: readonly StartedLine[],
  progress: Progress,
  { database }: TaskChunkServices,
): Promise<Step> {
  const ends: TaskLineEnd[] = [];
  let refusal: ServiceError | null = null;
  for (const { number, attempt, outcome } of lines) {
    // A line that has not started here is looked at again.
    if (progress.startedUpTo !== null) progress.startedUpTo = number;
    if (outcome.kind === 'created') progress.running.set(outcome.taskId, { number, attempt });
    if (outcome.kind === 'ended') ends.push(outcome.end);
    if (outcome.kind === 'refused') refusal ??= outcome.error;
  }
  await endTaskLines(database, batch.id, ends);
  const hasStarted = lines.some(({ outcome }) => outcome.kind === 'created');
  if (hasStarted && batch.pausedReason !== null) await resumeBatch(database, batch.id);
  if (lines.some(({ outcome }) => outcome.kind === 'claimed' || outcome.kind === 'refused')) progress.startedUpTo = 0;
  if (refusal === null) return 'started';
  return refusal.code === 'user_concurrency_exceeded' ? 'waiting' : { kind: 'paused', reason: refusal.code };
}

/** Cancels the tasks of a cancelled batch that certainly render nothing. The others end by themselves. */
async function cancelTasks(
  batchId: string,
  lines: ReadonlyMap<string, TaskLine>,
  { database, tasks }: TaskChunkServices,
): Promise<void> {
  if ((await findAnyBatch(database, batchId))?.status !== 'cancelling') return;
  for (const taskId of lines.keys()) {
    const task = await findTask(database, taskId);
    if (task !== null) await tasks.cancelTask(task).catch(ignoreRefusal);
  }
}

function ignoreRefusal(error: unknown): void {
  if (!(error instanceof ServiceError)) throw error;
}
