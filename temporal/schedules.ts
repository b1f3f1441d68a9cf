/** What Temporal starts by itself. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, ScheduleAlreadyRunning, ScheduleOverlapPolicy } from '@temporalio/client';
import type { Duration } from '@temporalio/common';
import type { Logger } from 'pino';
import { TASK_QUEUES } from '../domain/task-queues.ts';
import type { ReconciliationInput } from '../workflows/reconciliation.ts';

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
    summary: 'Remove what nobody asks for any more',
  },
};

/** How long a schedule that was lost, with the rest of Temporal's state or by hand, goes unnoticed. */
const PAUSE_MS = 60_000;

/** Makes the schedules that are missing. One that is there keeps what an operator made of it: another interval, a pause. */
export async function ensureSchedules(client: Client): Promise<void> {
  for (const [scheduleId, { workflowType, args, every, summary }] of Object.entries(SCHEDULES)) {
    try {
      await client.schedule.create({
        scheduleId,
        spec: { intervals: [{ every }] },
        action: {
          type: 'startWorkflow',
          workflowType,
          taskQueue: TASK_QUEUES.schedules,
          args: [...args],
          staticSummary: summary,
        },
        // One that was missed is made up for by the next.
        policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '10 minutes' },
      });
    } catch (error) {
      if (!(error instanceof ScheduleAlreadyRunning)) throw error;
    }
  }
}

/** Makes the schedules that are missing, now and for as long as the process runs. */
export function keepSchedules(client: Client, log: Logger, pauseMs = PAUSE_MS): { stop(): Promise<void> } {
  const stopped = new AbortController();
  const running = keep();

  async function keep(): Promise<void> {
    while (!stopped.signal.aborted) {
      await ensureSchedules(client).catch((error: unknown) => {
        log.error({ err: error }, 'the schedules could not be made');
      });
      await sleep(pauseMs, undefined, { signal: stopped.signal }).catch(() => undefined);
    }
  }

  return {
    stop: async () => {
      stopped.abort();
      await running;
    },
  };
}
