/** The single transaction of a create call: it writes the reservation, the task and the stored response together. */
import type { MediaModel } from '../../catalogue/types.ts';
import { createBatcher } from '../../db/batcher.ts';
import { OutcomeUnknownError } from '../../db/connections.ts';
import type { Database } from '../../db/database.ts';
import { type Clock, MACHINE_CLOCK } from '../../db/database-clock.ts';
import { withPartitions } from '../../db/partitions.ts';
import { recallAllowances } from '../../db/queries/allowances.ts';
import type { Caller } from '../../db/queries/api-keys.ts';
import { findTightestBudget } from '../../db/queries/budgets.ts';
import { type CreateOutcome, createTasks, findTaskRefusal, type NewTask } from '../../db/queries/tasks.ts';
import { describeLimit, exhaustedKey, type KeyLimit, keyRefusalError } from '../../domain/api-key.ts';
import { describeAccountBudget } from '../../domain/budget.ts';
import { ServiceError } from '../../domain/errors.ts';
import { createdAtMsOf, newId } from '../../domain/ids.ts';
import { formatUsd } from '../../domain/money.ts';
import { drawRoutes, routesWith } from '../../domain/media-route.ts';
import { TASK, type TypicalSeconds } from '../../domain/task-object.ts';
import { budgetError, topUpRequiredError } from '../../domain/text-refusal.ts';
import type { Storage } from '../../storage/storage.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { ValidatedMediaRequest } from './media-request.ts';
import { claimLostError, type CreatedResponse, type IdempotencyClaim, unconfirmedError } from './idempotency.ts';
import { OWN_START_MS, type TaskStarter } from './task-starter.ts';
import { uploadsIn } from './uploads.ts';

export interface TaskLimits {
  /** After this long, processing fails with `processing_timeout`. */
  readonly deadlineMs: number;
  /** Default limit on the concurrent tasks of an account. */
  readonly concurrentTasks: number;
}

export interface CreateTaskRequest extends ValidatedMediaRequest<MediaModel> {
  readonly billableDurationSeconds?: number;
  /** The line of a batch that creates the task. The line creates no second task. */
  readonly batchLine?: { readonly batchId: string; readonly number: number };
}

/** A request with its price for the customer. */
export interface PricedTaskRequest extends CreateTaskRequest, Pick<NewTask, 'price' | 'priceList'> {}

/** Starts tasks that were created, or leaves them to the relay. */
export type TaskStarting = Pick<TaskStarter, 'tryReserveSlot' | 'releaseSlot' | 'startSoon' | 'deferToRelay'>;

export type CreateTask = (
  caller: Caller,
  request: PricedTaskRequest,
  requestId: string,
  claim: IdempotencyClaim | null,
) => Promise<CreatedResponse & { readonly taskId: string }>;

const MAX_TASKS_PER_TRANSACTION = 50;

/**
 * Creates the function that creates tasks. Calls that arrive while a transaction is running share the next one.
 *
 * @returns a function that answers 201 with the new task, or throws the ServiceError that says why nothing was created
 */
export function createTaskCreator({
  database,
  storage,
  starter,
  metrics,
  limits,
  typicalSeconds,
  clock = MACHINE_CLOCK,
}: {
  database: Database;
  /** Recognises links to stored objects. */
  storage: Pick<Storage, 'keyOf'>;
  starter: TaskStarting;
  metrics: Metrics;
  limits: TaskLimits;
  typicalSeconds: (model: string) => Promise<TypicalSeconds | null>;
  clock?: Clock;
}): CreateTask {
  const batcher = createBatcher<NewTask, CreateOutcome>(
    (tasks) => withPartitions(database, () => createTasks(database, tasks)),
    {
      maxItems: MAX_TASKS_PER_TRANSACTION,
      again: (tasks) => withPartitions(database, () => createTasks(database, tasks, { again: true })),
      onFlush: (items) => metrics.batchFlushed('task_creates', items),
    },
  );

  return async (caller, request, requestId, claim) => {
    const task = newTask(caller, request, requestId, limits, clock);
    const body = JSON.stringify({
      data: TASK.present({ ...asCreated(task), typicalSeconds: await typicalSeconds(task.model) }),
    });
    const idempotency = claim && {
      key: claim.key,
      claimToken: claim.claimToken,
      status: 201,
      encryptedBody: claim.encrypt(body),
    };
    const uploadIds = uploadsIn(request.render, storage);
    const startsHere = starter.tryReserveSlot(task.id);
    const nextStartAt = startsHere ? new Date(task.createdAt.getTime() + OWN_START_MS) : task.createdAt;
    const create = (): Promise<CreateOutcome> => batcher.add({ ...task, nextStartAt, uploadIds, idempotency });
    const outcome = await withAllowances(database, caller.account.id, create).catch((error: unknown) => {
      starter.releaseSlot(task.id);
      if (!(error instanceof OutcomeUnknownError)) throw error;
      // If the task exists, the relay starts it. A line of a batch has one task, however often it is created.
      throw unconfirmedError(`task ${task.id}`, claim !== null || request.batchLine !== undefined, error);
    });
    if (outcome === 'created' && startsHere) starter.startSoon(task);
    else if (outcome === 'created') starter.deferToRelay();
    else {
      starter.releaseSlot(task.id);
      throw await refusalOf(database, outcome, task, caller.key);
    }
    return { status: 201, body, taskId: task.id };
  };
}

/** Runs the transaction's checks in advance, before any outside service learns of the request. @throws ServiceError */
export type AssertAffordable = (
  caller: Caller,
  request: Pick<PricedTaskRequest, 'model' | 'price' | 'endUser'>,
  /** The number of equal tasks. */
  count: number,
) => Promise<void>;

export function createAffordabilityCheck(database: Database, { concurrentTasks }: TaskLimits): AssertAffordable {
  return async ({ account, key }, { model, price: one, endUser }, count) => {
    const price = one * BigInt(count);
    const refusal = await withAllowances(database, account.id, () =>
      findTaskRefusal(database, {
        accountId: account.id,
        apiKeyId: key.id,
        endUser,
        model: model.id,
        price,
        count,
        maxConcurrentTasks: concurrentTasks,
      }),
    );
    const task = { accountId: account.id, model: model.id, price, endUser };
    if (refusal !== null) throw await refusalOf(database, refusal, task, key);
  };
}

/** Runs one check of the transaction in advance, before inputs are fetched. @throws ServiceError 403 `forbidden` */
export function assertToppedUp({ account }: Caller, model: string): void {
  if (account.toppedUpAt === null) throw topUpRequiredError(model);
}

type NewTaskWithoutClaim = Omit<NewTask, 'idempotency' | 'uploadIds' | 'nextStartAt'>;

function newTask(
  caller: Caller,
  { model, price, priceList, render, endUser, billableDurationSeconds, batchLine }: PricedTaskRequest,
  requestId: string,
  limits: TaskLimits,
  clock: Clock,
): NewTaskWithoutClaim {
  const id = newId('task', clock.nowMs());
  const createdAtMs = createdAtMsOf('task', id);
  const [first, ...others] = drawRoutes(routesWith(model.routes, render.parameters, model.parameters), Math.random);
  if (!first) throw new Error(`the model ${model.id} has no route`);
  return {
    id,
    reservationId: newId('transfer', createdAtMs),
    accountId: caller.account.id,
    apiKeyId: caller.key.id,
    kind: model.kind,
    model: model.id,
    capabilityVersion: model.capabilityVersion,
    provider: first.provider,
    request: { ...render, routes: [first, ...others], resultCheck: model.resultCheck },
    price,
    priceList,
    billableDurationSeconds: billableDurationSeconds ?? null,
    requestId,
    batchId: batchLine?.batchId ?? null,
    batchLine: batchLine?.number ?? null,
    endUser,
    createdAt: new Date(createdAtMs),
    deadlineAt: new Date(createdAtMs + limits.deadlineMs),
    maxConcurrentTasks: limits.concurrentTasks,
  };
}

function asCreated(task: NewTaskWithoutClaim) {
  return {
    ...task,
    status: 'queued',
    resolutionId: null,
    providerJobId: null,
    output: null,
    failure: null,
    updatedAt: task.createdAt,
    completedAt: null,
  } as const;
}

type Refusal = Exclude<CreateOutcome, 'created'>;

const SHORTAGES: ReadonlySet<CreateOutcome | null> = new Set([
  'key_limit',
  'budget_limit',
  'end_user_limit',
  'insufficient_credits',
]);

/** Recalls the unused allowances of text processes before a refusal for lack of money. */
export async function withAllowances<Outcome extends CreateOutcome | null>(
  database: Database,
  accountId: string,
  decide: () => Promise<Outcome>,
): Promise<Outcome> {
  const outcome = await decide();
  if (!SHORTAGES.has(outcome)) return outcome;
  return (await recallAllowances(database, { accountId })) ? decide() : outcome;
}

type RefusedTask = Pick<NewTask, 'accountId' | 'model' | 'price' | 'endUser'>;

/** The error that tells the customer why a task was not created. */
export async function refusalOf(
  database: Database,
  refusal: Refusal,
  task: RefusedTask,
  key: KeyLimit,
): Promise<ServiceError> {
  if (refusal !== 'budget_limit' && refusal !== 'end_user_limit') return REFUSALS[refusal](task, key);
  const budget = await findTightestBudget(database, task);
  const shortage = `is left of ${describeAccountBudget(budget, new Date())}`;
  return budgetError(budget, describeShortage(task, shortage, 'Raise the budget.'));
}

function insufficientCredits(task: Pick<NewTask, 'price'>, shortage: string, remedy: string): ServiceError {
  return new ServiceError('insufficient_credits', describeShortage(task, shortage, remedy));
}

function describeShortage({ price }: Pick<NewTask, 'price'>, shortage: string, remedy: string): string {
  return `This request costs ${formatUsd(price)} USD, more than ${shortage}. ${remedy}`;
}

const REFUSALS: Readonly<
  Record<
    Exclude<Refusal, 'budget_limit' | 'end_user_limit'>,
    (task: Pick<NewTask, 'model' | 'price'>, key: KeyLimit) => ServiceError
  >
> = {
  claim_lost: claimLostError,
  key_deleted: () => keyRefusalError('key_deleted'),
  key_disabled: () => keyRefusalError('key_disabled'),
  key_expired: () => keyRefusalError('key_expired'),
  key_exhausted: (_task, key) => exhaustedKey(key, new Date()),
  account_suspended: () => keyRefusalError('account_suspended'),
  key_limit: (task, key) =>
    insufficientCredits(task, `is left of ${describeLimit(key, new Date())}`, 'Raise the limit.'),
  never_topped_up: ({ model }) => topUpRequiredError(model),
  insufficient_credits: (task) => insufficientCredits(task, 'the balance', 'Top up.'),
  too_many_tasks: () =>
    new ServiceError(
      'user_concurrency_exceeded',
      'Too many tasks of this account are running at once. Wait for some of them to finish.',
      { retryAfterSeconds: 5 },
    ),
};
