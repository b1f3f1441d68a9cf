/** Claims a result that was rendered after the refund: a new task at the same price, which succeeds at once. */
import { lockAccount } from '../../db/queries/accounts.ts';
import { eventOf, finishTasks } from '../../db/queries/finish-task.ts';
import { findLateResult, lockLateResult, markLateResultClaimed } from '../../db/queries/late-results.ts';
import { createTasks, findAccountTask, type NewTask } from '../../db/queries/tasks.ts';
import { withPartitions } from '../../db/partitions.ts';
import { assertAllowedModel, type KeyGroup, type KeyLimit } from '../../domain/api-key.ts';
import { ServiceError } from '../../domain/errors.ts';
import { createdAtMsOf, newId } from '../../domain/ids.ts';
import type { Task } from '../../domain/task.ts';
import { refusalOf, withAllowances } from './create-task.ts';
import type { Services } from '../services.ts';

interface Claim {
  /** The task that was refunded. */
  readonly task: Task;
  /** The key that pays. */
  readonly key: KeyLimit & KeyGroup & { readonly id: string };
  readonly requestId: string;
}

/** A claimed task does not run, so no limit holds it up. The largest integer of PostgreSQL. */
const UNLIMITED = 2 ** 31 - 1;

/**
 * Charges the result, and returns it as a new task. Another claim returns the same task, and charges nothing.
 *
 * @throws ServiceError 403 when the key may not call the task's model; 409 when there is nothing to claim; otherwise
 *   the reason why the task was not created
 */
export async function claimLateResult(services: Services, { task, key, requestId }: Claim): Promise<Task> {
  const { database, metrics } = services;
  const { accountId } = task;
  assertAllowedModel(key, task.model);
  const claimed = newClaimedTask(task, key.id, requestId);
  const outcome = await withAllowances(database, accountId, () =>
    withPartitions(database, () =>
      database.transaction(async (transaction) => {
        // Before the result, as an erasure of the account's content does.
        await lockAccount(transaction, accountId);
        const offered = await lockLateResult(transaction, { accountId, taskId: task.id });
        if (offered === null) throw nothingToClaim();
        if (offered.claimedTaskId !== null) return 'created';
        const [created = 'claim_lost'] = await createTasks(transaction, [claimed]);
        if (created !== 'created') return created;
        const ending = { status: 'succeeded', output: offered.output } as const;
        await finishTasks(transaction, [{ taskId: claimed.id, ending, event: eventOf(ending) }]);
        await markLateResultClaimed(transaction, task.id, claimed.id);
        return 'created';
      }),
    ),
  );
  if (outcome !== 'created') throw await refusalOf(database, outcome, task, key);
  const late = await findLateResult(database, { accountId, taskId: task.id });
  const result = await findAccountTask(database, accountId, late?.claimedTaskId ?? claimed.id);
  if (result === null) throw nothingToClaim();
  if (result.id === claimed.id) metrics.taskEnded(result);
  return result;
}

function newClaimedTask(task: Task, apiKeyId: string, requestId: string): NewTask {
  const id = newId('task');
  const createdAt = new Date(createdAtMsOf('task', id));
  return {
    id,
    reservationId: newId('transfer', createdAt.getTime()),
    accountId: task.accountId,
    apiKeyId,
    kind: task.kind,
    model: task.model,
    capabilityVersion: task.capabilityVersion,
    provider: task.provider,
    request: task.request,
    price: task.price,
    priceList: task.priceList,
    billableDurationSeconds: task.billableDurationSeconds,
    requestId,
    batchId: null,
    batchLine: null,
    endUser: task.endUser,
    createdAt,
    deadlineAt: createdAt,
    nextStartAt: createdAt,
    maxConcurrentTasks: UNLIMITED,
    uploadIds: [],
    idempotency: null,
  };
}

function nothingToClaim(): ServiceError {
  return new ServiceError(
    'bad_request',
    'There is no late result to claim: the task has none, or it has expired. GET /v1/tasks/{task_id}/late-result shows it.',
    { status: 409 },
  );
}
