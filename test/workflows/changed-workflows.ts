/** Workflows under the names of the real ones that start with another step: an example of an incompatible change. */
import { sleep } from '@temporalio/workflow';

export async function mediaTask(): Promise<void> {
  await sleep('1 minute');
}

export async function webhookDelivery(): Promise<void> {
  await sleep('1 minute');
}

export async function batch(): Promise<void> {
  await sleep('1 minute');
}
