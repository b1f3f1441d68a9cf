import type { Database } from '../../db/database.ts';
import { requestRedeliveries } from '../../db/queries/deliveries.ts';
import { type Authorship, type OperatorAction, recordOperatorAction } from '../../db/queries/operator-actions.ts';
import { badRequest } from '../../domain/errors.ts';
import { WEBHOOKS } from '../../domain/policy.ts';

/** More than any account has endpoints. */
const MAX_REDELIVERIES = 500;

/**
 * Makes the deliveries of a task pending again for an operator, and records the action.
 *
 * @returns the action, and how many deliveries are pending again
 * @throws ServiceError `bad_request` when none can be sent again
 */
export function redeliverTask(
  database: Database,
  taskId: string,
  by: Authorship,
): Promise<{ readonly action: OperatorAction; readonly count: number }> {
  return database.transaction(async (transaction) => {
    const { count } = await requestRedeliveries(transaction, { taskId, limit: MAX_REDELIVERIES });
    if (count === 0) throw nothingToSend();
    return { action: await recordOperatorAction(transaction, { taskId, kind: 'redeliver', ...by }), count };
  });
}

function nothingToSend() {
  return badRequest(
    'The task has no delivery that can be sent again: no endpoint subscribed to its event, all endpoints are disabled or deleted, ' +
      `or every delivery has had ${WEBHOOKS.maxAttempts} attempts.`,
  );
}
