/**
 * Returns a delivery to the relay if its workflow was terminated, was lost by Temporal, or ended before the database
 * was restored. A running workflow is left alone, even if it is late.
 */
import type { Logger } from 'pino';
import type { Database } from '../../db/database.ts';
import { claimOverdueDeliveries, restartDelivery } from '../../db/queries/deliveries.ts';
import type { WorkflowAccess } from '../tasks/workflow-access.ts';

const BATCH_SIZE = 32;
/** Longer than an attempt takes even if its worker dies. */
const GRACE_SECONDS = 120;
const AGAIN_SECONDS = 300;

/** Repairs some overdue deliveries. @returns whether there may be more */
export async function repairDeliveries({
  database,
  workflows,
  log,
}: {
  readonly database: Database;
  readonly workflows: WorkflowAccess;
  readonly log: Logger;
}): Promise<boolean> {
  const deliveryIds = await claimOverdueDeliveries(database, {
    graceSeconds: GRACE_SECONDS,
    againSeconds: AGAIN_SECONDS,
    limit: BATCH_SIZE,
  });
  for (const deliveryId of deliveryIds) {
    const workflow = await workflows.describe(deliveryId);
    if (workflow && workflow.closedAt === null) continue;
    if (!(await restartDelivery(database, deliveryId))) continue;
    log.warn({ delivery_id: deliveryId, workflow: workflow?.status ?? 'missing' }, 'restarting an abandoned delivery');
  }
  return deliveryIds.length === BATCH_SIZE;
}
