/**
 * The steps of a media task. Each is safe to repeat: money by the ledger's unique keys, upstreams by what is committed
 * before they are called, storage by names unique to each attempt. A business failure is an ApplicationFailure whose
 * type is a task error code; anything else is retried.
 */
import { createAwaitResult } from './await-result.ts';
import { createCancelJob } from './cancel-job.ts';
import type { MediaTaskDependencies } from './dependencies.ts';
import { createDispatch } from './dispatch.ts';
import { createFinish, createRefund, createSettle } from './finish.ts';
import { createRecheckJob } from './recheck-job.ts';
import { createRender } from './render.ts';
import { createReserve } from './reserve.ts';
import { createKeepLateResult, createStoreResult } from './store-result.ts';
import { createWithdrawJob } from './withdraw-job.ts';

export type { MediaTaskDependencies } from './dependencies.ts';
export type { RenderedJob } from './await-result.ts';
export type { NextRoute } from './dispatch.ts';
export type { Resolution } from './finish.ts';
export type { RouteSteps } from './routes.ts';

export type MediaTaskActivities = ReturnType<typeof createMediaTaskActivities>;

export function createMediaTaskActivities(dependencies: MediaTaskDependencies) {
  const finish = createFinish(dependencies);
  return {
    reserve: createReserve(dependencies),
    dispatch: createDispatch(dependencies),
    render: createRender(dependencies),
    awaitResult: createAwaitResult(dependencies),
    storeResult: createStoreResult(dependencies),
    keepLateResult: createKeepLateResult(dependencies),
    recheckJob: createRecheckJob(dependencies),
    settle: createSettle(finish),
    refund: createRefund(finish),
    cancelJob: createCancelJob(dependencies),
    withdrawJob: createWithdrawJob(dependencies),
  };
}
