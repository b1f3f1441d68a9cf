/** Decides what happens to pending webhook deliveries, from what Temporal knows about their workflows. */
import type { Database } from '../../../db/database.ts';
import { toBatches } from '../../../db/to-batches.ts';
import { restartDelivery } from '../../../db/queries/deliveries.ts';
import { listStartedDeliveries } from '../../../db/queries/recovery.ts';
import { streamPages } from '../../../db/stream-pages.ts';
import type { WorkflowAccess } from '../workflow-access.ts';

/** The decisions about a delivery, with the reason that the command prints. */
export const DELIVERY_DECISIONS = {
  revived: 'revived: no workflow makes its next attempt',
  running: 'left alone: its workflow is running',
} as const;

export type DeliveryDecision = keyof typeof DELIVERY_DECISIONS;

const AT_ONCE = 20;

/**
 * Checks every pending delivery and revives those without a workflow: the relay makes their next attempt when it is
 * due. A delivery that arrived after the moment to which the database was restored arrives again, under the same id.
 *
 * @param isDryRun changes nothing, only yields what would be done
 * @throws ServiceError `processing_unavailable` when Temporal does not answer
 */
export async function* recoverDeliveries(
  { database, workflows }: { readonly database: Database; readonly workflows: WorkflowAccess },
  isDryRun: boolean,
): AsyncIterable<{ readonly deliveryId: string; readonly decision: DeliveryDecision }> {
  const pending = streamPages<string>((after, limit) => listStartedDeliveries(database, { after, limit }));
  for await (const deliveryIds of toBatches(pending, AT_ONCE)) {
    yield* await Promise.all(
      deliveryIds.map(async (deliveryId) => {
        const workflow = await workflows.describe(deliveryId);
        if (workflow && workflow.closedAt === null) return { deliveryId, decision: 'running' as const };
        if (!isDryRun) await restartDelivery(database, deliveryId);
        return { deliveryId, decision: 'revived' as const };
      }),
    );
  }
}
