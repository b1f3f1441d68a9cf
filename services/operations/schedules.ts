/** Workflows that Temporal starts on a schedule. */
import { type Client, ScheduleAlreadyRunning, ScheduleOverlapPolicy } from '@temporalio/client';
import type { Duration } from '@temporalio/common';
import type { Logger } from 'pino';
import { repeat, type Repetition } from '../../domain/background-loop.ts';
import { TASK_QUEUES } from '../../domain/task-queues.ts';
import type { ReconciliationInput } from '../../workflows/reconciliation.ts';

interface Schedule {
  readonly workflowType: string;
  readonly args: readonly unknown[];
  readonly every: Duration;
  readonly summary: string;
}

const SCHEDULES: Readonly<Record<string, Schedule>> = {
  'genway-reconciliation': {
    workflowType: 'reconciliation',
    args: [{ reconciliationId: null } satisfies ReconciliationInput],
    every: '1 hour',
    summary: 'Compare the books with each other and with Temporal',
  },
  'genway-sweep': {
    workflowType: 'sweep',
    args: [],
    every: '10 minutes',
    summary: 'Remove expired rows',
  },
};

/** How long a missing schedule can go unnoticed, lost with Temporal's state or deleted by hand. */
const PAUSE_MS = 60_000;

/** Creates the schedules that are missing. An existing one keeps an operator's changes. */
export async function ensureSchedules(client: Client): Promise<void> {
  for (const [scheduleId, { workflowType, args, every, summary }] of Object.entries(SCHEDULES)) {
    try {
      await client.schedule.create({
        scheduleId,
        spec: { intervals: [{ every }] },
        action: {
          type: 'startWorkflow',
          workflowType,
          taskQueue: TASK_QUEUES.webhooks,
          args: [...args],
          staticSummary: summary,
        },
        // The next run makes up for a missed one.
        policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '10 minutes' },
      });
    } catch (error) {
      if (!(error instanceof ScheduleAlreadyRunning)) throw error;
    }
  }
}

/** Creates missing schedules, now and for as long as the process runs. */
export function maintainSchedules(client: Client, log: Logger, pauseMs = PAUSE_MS): Repetition {
  const onError = (error: unknown): void => log.error({ err: error }, 'the schedules could not be created');
  return repeat(() => ensureSchedules(client), { pauseMs, onError });
}
