/** What Temporal starts by itself. */
import { type Client, ScheduleAlreadyRunning, ScheduleOverlapPolicy } from '@temporalio/client';
import { TASK_QUEUES } from '../../domain/task-queues.ts';
import type { reconciliation } from '../../workflows/reconciliation.ts';

const RECONCILIATION = 'genway-reconciliation';

/** Makes the schedules that are missing. One that is there keeps what an operator made of it: another interval, a pause. */
export async function ensureSchedules(client: Client): Promise<void> {
  try {
    await client.schedule.create<typeof reconciliation>({
      scheduleId: RECONCILIATION,
      spec: { intervals: [{ every: '1 hour' }] },
      action: {
        type: 'startWorkflow',
        workflowType: 'reconciliation',
        taskQueue: TASK_QUEUES.schedules,
        args: [{ reconciliationId: null }],
        staticSummary: 'Compare the books with each other and with Temporal',
      },
      // One that was missed is made up for by the next.
      policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '10 minutes' },
    });
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
  }
}
