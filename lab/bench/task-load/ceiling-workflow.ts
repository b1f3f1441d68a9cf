/** The minimum of a durable task with five steps: five activities that do nothing. */
import { proxyActivities } from '@temporalio/workflow';

const { nothing } = proxyActivities<{ nothing(): Promise<void> }>({ startToCloseTimeout: '1 minute' });

export async function bare(): Promise<void> {
  for (let step = 0; step < 5; step += 1) await nothing();
}
