/**
 * Starts the workflows of tasks whose start was never acknowledged: the api process died between commit and start,
 * Temporal was out of reach, or more tasks arrived than could be started at once. Also starts webhook deliveries that
 * are due, starts batches, ends tasks and restarts deliveries whose workflows are gone, takes back promo credit whose time is over,
 * moves the money of merged accounts, announces low balances, and creates the partitions of coming months.
 * Runs in every api process; each task and each delivery is claimed by one of them at a time.
 */
import type { Logger } from 'pino';
import type { Database } from '../../db/database.ts';
import { ensurePartitions } from '../../db/partitions.ts';
import { moveMergedMoney } from '../../db/queries/account-merges.ts';
import { finishTask } from '../../db/queries/finish-task.ts';
import { orderDueNotices } from '../../db/queries/due-notices.ts';
import { announceLowBalances } from '../../db/queries/low-balances.ts';
import { expirePromoCredit } from '../../db/queries/promo-grants.ts';
import { claimTasksToStart, findExpiredTasks, markWorkflowsStarted } from '../../db/queries/tasks.ts';
import { ServiceError } from '../../domain/errors.ts';
import { pause, repeat, type Repetition } from '../../domain/background-loop.ts';
import type { TaskEnding } from '../../domain/task.ts';
import { TASK_MESSAGES } from '../../domain/task-messages.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { repairDeliveries } from '../webhooks/delivery-repair.ts';
import type { BatchStarter } from '../batches/batch-starter.ts';
import type { DeliveryStarter } from '../webhooks/delivery-starter.ts';
import { repairTasks } from './task-repair.ts';
import type { TaskStarter } from './task-starter.ts';
import type { WorkflowAccess } from './workflow-access.ts';

const PAUSE_MS = 1_000;
/** The pause while deliveries wait for other deliveries to end. */
const BUSY_PAUSE_MS = 100;
const REPAIR_PAUSE_MS = 30_000;
/** How long after its time promo credit may expire, money of a merged account may move, and a low balance may be announced. */
const BALANCES_PAUSE_MS = 5_000;
const NOTICES_PAUSE_MS = 60_000;
/** Partitions are created three months ahead, so a day without an api process does no harm. */
const PARTITIONS_PAUSE_MS = 6 * 3_600_000;
/** The pause while tasks wait until workers pick up earlier tasks. */
const ROOM_PAUSE_MS = 50;
const BATCH_SIZE = 32;
/** The number of recent starts that decide whose turn it is. */
const SERVED_COUNT = 64;
/** When another relay may claim a task that this one claimed but did not start. */
const RETRY_AFTER_SECONDS = 10;

interface RelayDependencies {
  readonly database: Database;
  readonly starter: TaskStarter;
  readonly deliveryStarter: DeliveryStarter;
  readonly batchStarter: BatchStarter;
  readonly workflows: WorkflowAccess;
  readonly metrics: Metrics;
  readonly log: Logger;
}

/** One pass over the work. @returns whether there may be more to do, so that the next pass follows immediately */
type Pass = () => Promise<boolean>;

/** @returns stops when the current passes have ended */
export function startRelay(dependencies: RelayDependencies): Repetition {
  const { database, log } = dependencies;
  const stopped = new AbortController();
  const run = (pass: Pass, what: string, pauseMs: number): Repetition =>
    repeat(pass, { pauseMs, onError: (error) => log.error({ err: error }, `the relay could not ${what}`) });
  // The loops run concurrently, so that no loop waits for another.
  const running = [
    run(startTasks(dependencies, stopped.signal), 'start tasks', PAUSE_MS),
    run(endTasksOutOfTime(dependencies), 'end tasks that could not begin in time', PAUSE_MS),
    run(startDeliveries(dependencies, stopped.signal), 'start deliveries', PAUSE_MS),
    run(startBatches(dependencies), 'start batches', PAUSE_MS),
    run(() => repairDeliveries(dependencies), 'repair overdue deliveries', REPAIR_PAUSE_MS),
    run(() => repairTasks(dependencies), 'repair overdue tasks', REPAIR_PAUSE_MS),
    run(inBatches(database, expirePromoCredit), 'take back promo credit whose time is over', BALANCES_PAUSE_MS),
    run(inBatches(database, moveMergedMoney), 'move the money of merged accounts', BALANCES_PAUSE_MS),
    run(inBatches(database, announceLowBalances), 'announce low balances', BALANCES_PAUSE_MS),
    run(inBatches(database, orderDueNotices), 'order e-mails', NOTICES_PAUSE_MS),
    run(createPartitions(dependencies), 'create the partitions of coming months', PARTITIONS_PAUSE_MS),
  ];

  return {
    stop: async () => {
      stopped.abort();
      await Promise.all(running.map((repetition) => repetition.stop()));
    },
  };
}

/** Starts tasks that wait in PostgreSQL, as fast as workers pick them up. */
function startTasks({ database, starter }: RelayDependencies, signal: AbortSignal): Pass {
  /** The accounts of the most recent starts. */
  const served: string[] = [];
  return async () => {
    const limit = Math.min(await starter.freeSlots(), BATCH_SIZE);
    if (limit === 0) {
      await pause(ROOM_PAUSE_MS, signal);
      return true;
    }
    // Set before the claim, so that a task left to the relay in the meantime is not overlooked.
    starter.setBacklog(false);
    const due = await claimTasksToStart(database, { limit, retryAfterSeconds: RETRY_AFTER_SECONDS, served });
    const mayBeMore = due.length === limit;
    if (mayBeMore) starter.setBacklog(true);
    served.push(...due.map(({ accountId }) => accountId));
    served.splice(0, served.length - SERVED_COUNT);
    const handled = await Promise.all(due.map((task) => starter.start(task)));
    if (!handled.every(Boolean)) return false;
    if (!mayBeMore) await Promise.race([starter.whenDeferred(), pause(PAUSE_MS, signal)]);
    return true;
  };
}

/** Does not wait for free places: until their turn, these tasks would keep their price reserved. */
function endTasksOutOfTime({ database, workflows, metrics }: RelayDependencies): Pass {
  return async () => {
    const taskIds = await findExpiredTasks(database, BATCH_SIZE);
    await Promise.all(
      taskIds.map(async (taskId) => {
        // If the database was restored to an earlier moment, the task may have started, and even ended; then it is repaired.
        if (await workflows.describe(taskId).catch(unlessUnreachable)) return markWorkflowsStarted(database, [taskId]);
        const { applied, task } = await finishTask(database, taskId, NEVER_STARTED, null);
        if (applied) metrics.taskEnded(task);
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

function startBatches({ batchStarter }: RelayDependencies): Pass {
  return async () => (await batchStarter.startDue(BATCH_SIZE)) === BATCH_SIZE;
}

/** @param work processes at most `limit` items, and fewer when nothing is left */
function inBatches(database: Database, work: (database: Database, limit: number) => Promise<number>): Pass {
  return async () => (await work(database, BATCH_SIZE)) === BATCH_SIZE;
}

function createPartitions({ database }: RelayDependencies): Pass {
  return async () => {
    await ensurePartitions(database);
    return false;
  };
}

const NEVER_STARTED: TaskEnding = {
  status: 'failed',
  failure: { code: 'processing_timeout', message: TASK_MESSAGES.notStarted },
};

/** Refunds are made in time even while Temporal is down. */
function unlessUnreachable(error: unknown): null {
  if (error instanceof ServiceError && error.code === 'processing_unavailable') return null;
  throw error;
}
