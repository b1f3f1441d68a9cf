/**
 * Starts the workflows of tasks whose start was never acknowledged: the api process died between commit and start, Temporal
 * was out of reach, or more tasks came in than could be started at once. Starts webhook deliveries that are due likewise, ends
 * the tasks and starts again the deliveries whose workflows are gone, and makes the tables of the months to come. Runs in
 * every api process; each task and each delivery is taken by one of them at a time.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Database } from '../db/database.ts';
import { ensurePartitions } from '../db/partitions.ts';
import { finishTask, type TaskEnding } from '../db/queries/finish-task.ts';
import { claimTasksToStart, findTasksOutOfTime } from '../db/queries/tasks.ts';
import { ServiceError } from '../domain/errors.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { createDeliveryRepair } from './delivery-repair.ts';
import type { DeliveryStarter } from './delivery-starter.ts';
import { endAsRecorded } from './end-as-recorded.ts';
import { createTaskRepair } from './task-repair.ts';
import type { TaskStarter } from './task-starter.ts';
import type { WorkflowAccess } from './workflow-access.ts';

export interface Relay {
  /** Resolves when the pass that is under way has ended. */
  stop(): Promise<void>;
}

const PAUSE_MS = 1_000;
/** While deliveries wait for others to end, whose room they take. */
const BUSY_PAUSE_MS = 100;
const REPAIR_PAUSE_MS = 30_000;
/** Months are made three ahead, so that a day without an api process does no harm. */
const PARTITIONS_PAUSE_MS = 6 * 3_600_000;
/** While tasks wait for others to be taken up. */
const ROOM_PAUSE_MS = 50;
const BATCH_SIZE = 32;
/** So many starts count in whose turn it is. */
const SERVED_COUNT = 64;
/** When another relay may take a task that this one took and lost. */
const RETRY_AFTER_SECONDS = 10;

interface RelayDependencies {
  readonly database: Database;
  readonly starter: TaskStarter;
  readonly deliveryStarter: DeliveryStarter;
  readonly workflows: WorkflowAccess;
  readonly metrics: Metrics;
  readonly log: Logger;
}

/** One look at what is to be done. @returns whether there may be more to do, so that the next look follows at once */
type Pass = () => Promise<boolean>;

export function startRelay(dependencies: RelayDependencies): Relay {
  const { database, workflows, metrics, log } = dependencies;
  const stopped = new AbortController();
  const repair = createTaskRepair({ database, workflows, metrics, log });
  const deliveryRepair = createDeliveryRepair({ database, workflows, log });
  // Side by side, so that none waits for another.
  const running = Promise.all([
    run(startTasks(dependencies, stopped.signal), 'start tasks', PAUSE_MS),
    run(endTasksOutOfTime(dependencies), 'end tasks that could not begin in time', PAUSE_MS),
    run(startDeliveries(dependencies, stopped.signal), 'start deliveries', PAUSE_MS),
    run(() => deliveryRepair.repairSome(), 'look after overdue deliveries', REPAIR_PAUSE_MS),
    run(() => repair.repairSome(), 'look after overdue tasks', REPAIR_PAUSE_MS),
    run(makePartitions(dependencies), 'make the partitions of the months to come', PARTITIONS_PAUSE_MS),
  ]);

  async function run(pass: Pass, what: string, pauseMs: number): Promise<void> {
    while (!stopped.signal.aborted) {
      const more = await pass().catch((error: unknown) => {
        log.error({ err: error }, `the relay could not ${what}`);
        return false;
      });
      if (!more) await pause(pauseMs, stopped.signal);
    }
  }

  return {
    stop: async () => {
      stopped.abort();
      await running;
    },
  };
}

/** Starts those who wait in PostgreSQL, as far as workers take them up. */
function startTasks({ database, starter }: RelayDependencies, signal: AbortSignal): Pass {
  /** The accounts of the last starts. */
  const served: string[] = [];
  return async () => {
    const limit = Math.min(await starter.room(), BATCH_SIZE);
    if (limit === 0) {
      await pause(ROOM_PAUSE_MS, signal);
      return true;
    }
    // Before it is known, so that what is left meanwhile is not overlooked.
    starter.served(false);
    const due = await claimTasksToStart(database, { limit, retryAfterSeconds: RETRY_AFTER_SECONDS, served });
    const mayBeMore = due.length === limit;
    if (mayBeMore) starter.served(true);
    served.push(...due.map(({ accountId }) => accountId));
    served.splice(0, served.length - SERVED_COUNT);
    const handled = await Promise.all(due.map((task) => starter.start(task)));
    if (!handled.every(Boolean)) return false;
    if (!mayBeMore) await Promise.race([starter.whenLeft(), pause(PAUSE_MS, signal)]);
    return true;
  };
}

/** However little room there is: they would keep their price until their turn. */
function endTasksOutOfTime({ database, workflows, metrics }: RelayDependencies): Pass {
  return async () => {
    const taskIds = await findTasksOutOfTime(database, BATCH_SIZE);
    await Promise.all(
      taskIds.map(async (taskId) => {
        // In a database that was restored to an older moment it may have begun, and ended.
        const recorded = await workflows.readEnding(taskId).catch(unlessUnreachable);
        const ended = recorded
          ? await endAsRecorded({ database, workflows }, taskId, recorded)
          : await finishTask(database, taskId, NEVER_STARTED, null);
        if (ended.applied) metrics.taskEnded(ended.task);
      }),
    );
    return taskIds.length === BATCH_SIZE;
  };
}

function startDeliveries({ deliveryStarter }: RelayDependencies, signal: AbortSignal): Pass {
  return async () => {
    if ((await deliveryStarter.startDue()) === 0) return false;
    await pause(BUSY_PAUSE_MS, signal);
    return true;
  };
}

function makePartitions({ database }: RelayDependencies): Pass {
  return async () => {
    await ensurePartitions(database);
    return false;
  };
}

const NEVER_STARTED: TaskEnding = {
  status: 'failed',
  failure: {
    code: 'processing_timeout',
    message: 'Processing could not begin in time. Nothing was charged; send the request again.',
  },
};

/** Clients are given their money back in time, also while Temporal is away. */
function unlessUnreachable(error: unknown): null {
  if (error instanceof ServiceError && error.code === 'processing_unavailable') return null;
  throw error;
}

/** Ends early, without an error, when the signal says so. */
async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  await sleep(milliseconds, undefined, { signal }).catch(() => undefined);
}
