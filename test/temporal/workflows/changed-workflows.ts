/** Workflows under the names of the real ones that begin with another step: what an incompatible change looks like. */
import { sleep } from '@temporalio/workflow';

export async function mediaTask(): Promise<void> {
  await sleep('1 minute');
}

export async function webhookDelivery(): Promise<void> {
  await sleep('1 minute');
}
