/**
 * Returns deliveries to the relay whose workflow was terminated, was lost by Temporal, or ended before the database was
 * restored. A workflow that is still running is left alone, however late it is.
 */
import type { Logger } from 'pino';
import type { Database } from '../db/database.ts';
import { claimOverdueDeliveries, restartDelivery } from '../db/queries/deliveries.ts';
import type { WorkflowAccess } from './workflow-access.ts';

export interface DeliveryRepair {
  /** Repairs some overdue deliveries. @returns whether there may be more */
  repairSome(): Promise<boolean>;
}

const BATCH_SIZE = 32;
/** Longer than an attempt takes even if its worker dies. */
const GRACE_SECONDS = 120;
const AGAIN_SECONDS = 300;

export function createDeliveryRepair({
  database,
  workflows,
  log,
  graceSeconds = GRACE_SECONDS,
}: {
  database: Database;
  workflows: WorkflowAccess;
  log: Logger;
  /** How long a due attempt is left to the delivery's workflow. */
  graceSeconds?: number;
}): DeliveryRepair {
  async function repair(deliveryId: string): Promise<void> {
    const workflow = await workflows.describe(deliveryId);
    if (workflow && workflow.closedAt === null) return;
    if (!(await restartDelivery(database, deliveryId))) return;
    log.warn({ delivery_id: deliveryId, workflow: workflow?.status ?? 'missing' }, 'restarting an abandoned delivery');
  }

  return {
    repairSome: async () => {
      const deliveryIds = await claimOverdueDeliveries(database, {
        graceSeconds,
        againSeconds: AGAIN_SECONDS,
        limit: BATCH_SIZE,
      });
      for (const deliveryId of deliveryIds) await repair(deliveryId);
      return deliveryIds.length === BATCH_SIZE;
    },
  };
}
